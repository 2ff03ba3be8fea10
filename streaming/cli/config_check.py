"""`config check`: would `run` start with this configuration, and what does it amount to."""

import argparse
from collections.abc import Iterator
from contextlib import closing

from rebalance_monitor.streaming.config.certificates import unusable
from rebalance_monitor.streaming.config.client_properties import in_clear
from rebalance_monitor.streaming.config.kafka import KafkaSection
from rebalance_monitor.streaming.config.rights import rights_of
from rebalance_monitor.streaming.config.section import HIGHEST_PORT
from rebalance_monitor.streaming.config.settings import Settings, lacking
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.polling.log_files import unreadable
from .config_groups import notes_of
from .exit_codes import BAD_INPUT, DONE, InputError
from .opening import settings_from, source
from .outline import visible
from .output import print_json

UNCHECKED = "the properties of clusters[].client are not checked: the package confluent-kafka is not installed"


def config_check(arguments: argparse.Namespace) -> int:
    """Print what was understood, with secrets masked; with --connect, also what brokers and database answer.

    InputError names everything that would keep `run` from starting.
    """
    path, connect, output = arguments.config, arguments.connect, arguments.output
    settings = settings_from(path)
    problems = [f"{source(path)}: {one}" for one in problems_of(settings)]
    if problems:
        raise InputError("\n".join(problems))
    if output == "json":
        print_json(settings.model_dump(mode="json"))
        for note in notes_of(settings):
            print_json({"kind": "note", "text": note})
    else:
        names = ", ".join(cluster.name for cluster in settings.clusters)
        later = " by itself, brokers, database and receivers are asked next" if connect else ""
        print(f"{source(path)}: sound{later}; clusters: {names}", flush=True)
        if not client_installed():
            print(UNCHECKED)
        for note in notes_of(settings):
            print(visible(f"note: {note}"))
        for problem in _not_followed(settings):
            print(visible(problem))
    return _connected(settings, source(path), output) if connect else DONE


def _not_followed(settings: Settings) -> Iterator[str]:
    """Logs of brokers that cannot be read now; `run` starts all the same and looks again."""
    for index, cluster in enumerate(settings.clusters):
        for problem in unreadable(cluster.coordinator_log.files):
            yield f"clusters[{index}].coordinator_log.files: {problem}"


def problems_of(settings: Settings) -> list[str]:
    """What would keep `run` from starting, without asking anybody."""
    return [*lacking(settings), *unusable(settings), *refused(settings), *not_loaded(settings)]


def config_default(_: argparse.Namespace) -> int:
    """Print the documented configuration: every key with its default."""
    from importlib import resources

    print((resources.files("rebalance_monitor.streaming.config") / "default.yaml").read_text(encoding="utf-8"), end="")
    return DONE


def config_rights(arguments: argparse.Namespace) -> int:
    """Print what grants exactly the rights that `run` needs with this configuration, one command a line."""
    path, principal = arguments.config, arguments.principal
    if principal is not None and not all(principal.partition(":")):
        raise InputError(f"--principal {principal!r} must be a type and a name, such as User:monitor")
    settings = settings_from(path)
    if not settings.clusters:
        raise InputError(f"{source(path)}: clusters is empty, so no right is needed; list at least one cluster")
    for cluster in settings.clusters:
        print(visible(f"# cluster {cluster.name}"))
        user = principal or f"User:{in_clear(cluster.client).get('sasl.username', 'monitor')}"
        for right in rights_of(settings, cluster):
            print(visible(right.command(cluster.bootstrap_servers, user)))
    return DONE


def client_installed() -> bool:
    """Whether librdkafka is there to say which properties it knows."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        return False
    return True


def refused(settings: Settings) -> list[str]:
    """What librdkafka and PostgreSQL's library refuse before any connection: an unknown property, an unreadable
    certificate, a text that names no database. Empty where these packages are not installed."""
    problems = []
    if client_installed():
        from rebalance_monitor.streaming.spark.ends import ClientRefused, KafkaView

        sections: list[tuple[str, KafkaSection]] = [
            (f"clusters[{index}].client", one) for index, one in enumerate(settings.clusters)
        ]
        if settings.alerting.kafka is not None:
            sections.append(("alerting.kafka.client", settings.alerting.kafka))
        for name, section in sections:
            try:
                KafkaView(section.librdkafka())
            except ClientRefused as why:
                problems.append(f"{name} is not accepted ({why}); correct it")
    for key, given in (
        ("database.dsn", settings.database.dsn),
        ("database.maintenance_dsn", settings.database.maintenance_dsn),
        ("audit.dsn", settings.audit.dsn),
    ):
        if given is not None and not _names_a_database(given.get_secret_value()):
            problems.append(
                f"{key} is not a PostgreSQL connection text;"
                " write it like postgresql://user:password@host:5432/database"
            )
    return problems


def not_loaded(settings: Settings) -> list[str]:
    """The plug-ins that cannot be loaded, each in a process of its own."""
    named = {
        f"clusters[{index}].streams.{application}.plug_in": known.plug_in
        for index, cluster in enumerate(settings.core_clusters().values())
        for application, known in cluster.streams.items()
        if known.plug_in is not None
    }
    if not named:
        return []
    from rebalance_monitor.streaming.plug_ins.host import PlugInHost

    with closing(PlugInHost()) as host:
        failed = {key: host.loaded(plug_in) for key, plug_in in named.items()}
    return [f"{key} is not usable: {one.text}" for key, one in failed.items() if one is not None]


def _names_a_database(dsn: str) -> bool:
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        return True
    try:
        ports = str(conninfo_to_dict(dsn).get("port", "")).split(",")
    except ProgrammingError:
        return False
    return all(not port or (port.isdecimal() and 0 < int(port) <= HIGHEST_PORT) for port in ports)


def _connected(settings: Settings, name: str, output: str) -> int:
    from .config_connect import answers

    asked = failed = 0
    for answer in answers(settings):
        asked += 1
        failed += answer.problem is not None
        if output == "json":
            print_json(
                {"kind": "answer", "what": answer.what, "sound": answer.problem is None, "problem": answer.problem}
            )
        else:
            print(visible(f"{answer.what}: {answer.problem or 'sound'}"), flush=True)
    if output != "json":
        told = f"not sound: {failed} of {counted(asked, 'check')} failed" if failed else f"sound: all {asked} checks"
        print(f"{name}: {told}")
    return BAD_INPUT if failed else DONE
