"""`config init`: a commented configuration for a live cluster: its Connect clusters with their topics, its Streams
applications. What brokers do not tell stands in it as a comment, for whoever knows it."""

import argparse
import os
from collections.abc import Iterable, Iterator

import yaml

from rebalance_monitor.streaming.config.clusters import ClusterSection
from rebalance_monitor.streaming.config.loading import checked
from rebalance_monitor.streaming.config.section import ConfigError
from rebalance_monitor.streaming.core.connect.topic_names import CONFIG_SUFFIXES, STATUS_SUFFIXES
from rebalance_monitor.streaming.core.reading.snapshots import Snapshot
from .exit_codes import DONE, InputError
from .opening import need, settings_from

CONNECT, STREAMS = "connect", "stream"
"""The protocol type of groups of workers; the protocol of Streams applications."""
NAME = "own"
DSN = "REBALANCE_MONITOR__DATABASE__DSN"
_ONE_LINE = 10**9


def config_init(arguments: argparse.Namespace) -> int:
    """Print the configuration, or write it into a file that is not there yet. InputError where no broker answers."""
    need("capture", "confluent_kafka")
    section, out = _section(arguments.config, arguments.bootstrap_servers), arguments.out
    text = "\n".join(file_lines(section, *_found(section))) + "\n"
    if out is None:
        print(text, end="")
        return DONE
    try:
        with open(out, "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as why:
        raise InputError(f"{out} can't be written ({why.strerror}); name a file that is not there yet") from why
    dsn = "" if DSN in os.environ else f"give database.dsn, in it or as {DSN}, "
    print(
        f"{out} is written; fill in what its comments ask for, as far as you know it; {dsn}then run: rebalance-monitor"
        f" config check --connect --config {out}"
    )
    return DONE


def _section(config: str | None, servers: str | None) -> ClusterSection:
    if servers is not None:
        named = {"name": NAME, "bootstrap_servers": servers}
        try:
            return checked(ClusterSection, named, "--bootstrap-servers")
        except ConfigError as why:
            raise InputError(str(why)) from why
    clusters = settings_from(config).clusters
    if len(clusters) != 1:
        raise InputError(
            "config init asks one cluster; name it with --bootstrap-servers, or, where it asks for credentials, in a "
            "file with that cluster alone"
        )
    return clusters[0]


def _found(section: ClusterSection) -> tuple[list[Snapshot], list[str]]:
    """The classic groups of the cluster, and the names of its topics."""
    from rebalance_monitor.streaming.polling.asking import KafkaTopics
    from rebalance_monitor.streaming.polling.asking_snapshots import KafkaSnapshots
    from rebalance_monitor.streaming.supervision import PartFailed

    client = section.librdkafka()
    try:
        groups = KafkaSnapshots(client)().groups
        return [groups[name] for name in sorted(groups)], sorted(KafkaTopics(client)().topics)
    except PartFailed as why:
        raise InputError(f"{section.bootstrap_servers}: {why}; check the address, and that brokers are up") from why


def file_lines(section: ClusterSection, groups: Iterable[Snapshot], topics: Iterable[str]) -> Iterator[str]:
    every, names = list(groups), list(topics)
    named = [one for one in every if one.group.isprintable()]  # no configuration names any other
    connect = [one.group for one in named if one.protocol_type == CONNECT]
    streams = [one.group for one in named if one.protocol_type != CONNECT and one.protocol == STREAMS]
    yield "# Every key and its default: rebalance-monitor config default"
    yield "clusters:"
    yield f"  - name: {_scalar(section.name)}"
    yield f"    bootstrap_servers: {_scalar(section.bootstrap_servers)}"
    if section.client:
        yield "    client:  # secrets are not written here; give them as environment variables"
        for name, value in sorted(section.client.items()):
            if isinstance(value, str):
                yield f"      {name}: {_scalar(value)}"
            else:
                variable = f"REBALANCE_MONITOR__CLUSTERS__0__CLIENT__{name.replace('.', '_').upper()}"
                yield f"      # {name}: in {variable}"
    if connect:
        yield "    connect:  # a key without a value is unknown, and verdicts that need it say so"
    for group in connect:
        yield f"      {_scalar(group)}:"
        yield f"        {_topic('config_topic', group, names, CONFIG_SUFFIXES)}"
        yield f"        {_topic('status_topic', group, names, STATUS_SUFFIXES)}"
        yield "        max_delay_ms:  # scheduled.rebalance.max.delay.ms of its workers; Kafka's default is 300000"
        yield "        release:  # of Kafka, such as 3.9.1"
    if streams:
        yield "    streams:  # by application.id; likewise"
    for group in streams:
        yield f"      {_scalar(group)}:"
        yield "        release:  # of Kafka Streams, such as 3.9.1"
        yield "        standbys:  # num.standby.replicas; Kafka's default is 0"
        yield "        warm_ups:  # max.warmup.replicas; Kafka's default is 2"
        yield "        acceptable_lag:  # acceptable.recovery.lag; Kafka's default is 10000"
        yield "        probing_interval_ms:  # probing.rebalance.interval.ms; Kafka's default is 600000"
    yield f"    # Other groups that were found: {len(every) - len(connect) - len(streams)}. They need no entry."
    yield "database:"
    yield f"  # such as postgresql://monitor@db/monitor; {DSN} overrides it: put it there if it has a password"
    yield "  dsn:"


def _topic(key: str, group: str, names: Iterable[str], suffixes: tuple[str, ...]) -> str:
    """The topic by its name's convention where it is there, or the only one that can be it; else those that can be."""
    there = [name for name in names if name.endswith(suffixes)]
    own = [name for name in there if name in {group + suffix for suffix in suffixes}]
    likely = own or there
    if len(likely) == 1:
        return f"{key}: {_scalar(likely[0])}" + ("" if own else "  # by its name alone; is it this cluster's?")
    choice = f"one of {', '.join(likely)}" if likely else "no topic's name ends with " + " or ".join(suffixes)
    return f"{key}:  # {choice}".replace("\n", " ")


def _scalar(text: str) -> str:
    """As YAML writes it on one line."""
    plain = yaml.safe_dump(text, width=_ONE_LINE).removesuffix("...\n").strip()
    return plain if plain == text else yaml.safe_dump(text, width=_ONE_LINE, default_style='"').strip()
