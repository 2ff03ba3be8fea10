"""Every command with its arguments, and what runs it. Heavy parts are imported by the command that needs them."""

import argparse
from collections.abc import Iterable
from typing import Any

from .arguments import CommandParser, output_option, run_by, whole_number
from .capture_commands import add_capture_commands
from .examples import show_examples
from .exit_codes import InputError
from .group_commands import add_group_commands
from .names import FAMILIES, KINDS, SHELLS

EXIT_CODES = (
    "Exit codes: 0 done, nothing found; 1 something found; 2 usage, configuration, connection or unreadable input; "
    "3 cannot tell; 4 internal error; 5 not yet (wait); 130 and 143 on signals."
)


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: that takes longer than the whole help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from .version import package_version

        print(f"rebalance-monitor {package_version() or '(not installed)'}")
        parser.exit()


def parser() -> argparse.ArgumentParser:
    top = CommandParser(
        prog="rebalance-monitor",
        description="Judges every Kafka rebalance: reads the coordinator's log, recomputes it, says what is wrong.",
        epilog=EXIT_CODES,
    )
    top.add_argument("--version", nargs=0, action=_Version, help="print the version and exit")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="run the streaming job until it is stopped")
    run.add_argument("--config", metavar="FILE", help="configuration (YAML); environment variables override it")
    run.add_argument("--shadow", metavar="SCHEMA", help="judge beside the live job into this schema; notify nobody")
    run.set_defaults(handle=run_by("run"))

    compare = commands.add_parser("compare", help="list verdicts in which a shadow differs from the live job")
    compare.add_argument("schema", metavar="SCHEMA", help="that of `run --shadow SCHEMA`")
    compare.add_argument("--config", metavar="FILE", help="the configuration that `run` has")
    output_option(compare)
    compare.set_defaults(handle=run_by("compare"))

    serve = commands.add_parser("serve", help="serve the page and the JSON API, which `run` does by itself")
    serve.add_argument("--config", metavar="FILE", help="the configuration that `run` has")
    serve.add_argument("--monitor-url", metavar="URL", help="where the job's /metrics are, instead of what FILE says")
    serve.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    serve.set_defaults(handle=run_by("serve"))

    audit = commands.add_parser("audit", help="say whether the published tables keep their contracts")
    audit.add_argument("--config", metavar="FILE", help="the configuration that `run` has")
    audit.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    output_option(audit)
    audit.set_defaults(handle=run_by("audit"))

    replay = commands.add_parser("replay", help="judge captured records without Spark")
    replay.add_argument(
        "paths", nargs="+", metavar="DIR|FILE|-", help="a capture's directory, or files of records; - reads stdin"
    )
    replay.add_argument("--config", metavar="FILE", help="settings instead of the capture's own")
    replay.add_argument("--no-settings", action="store_true", help="ignore the capture's cluster.json and metadata")
    replay.add_argument("--with-commits", action="store_true", help="show the offset commits too")
    output_option(replay)
    replay.set_defaults(handle=run_by("replay"))

    add_capture_commands(commands)

    plan = commands.add_parser("plan", help="compute what Kafka's own classes would answer")
    plan_arguments(plan, FAMILIES)
    plan.add_argument(
        "--config", metavar="FILE", help="the configuration whose plug-ins assign tasks (streams-assign, streams-full)"
    )
    plan.set_defaults(handle=run_by("plan"))

    decode = commands.add_parser("decode", help="show one record or payload in full")
    decode.add_argument(
        "inputs",
        nargs="+",
        metavar="KEY VALUE|PAYLOAD|CAPTURE|-",
        help="hexadecimal or base64 (null: tombstone; keys of Connect's topics as text), a capture, or - for lines",
    )
    decode.add_argument(
        "--topic-kind",
        default="offsets",
        metavar="KIND",
        help=f"where it came from, or which payload: {', '.join(KINDS)} (default: offsets)",
    )
    decode.add_argument("--encoding", default="auto", choices=("auto", "hex", "base64"))
    decode.add_argument("--topic", help="of a capture: records of this topic")
    decode.add_argument("--partition", type=whole_number)
    decode.add_argument("--offset", type=whole_number)
    output_option(decode)
    decode.set_defaults(handle=run_by("decode"))

    config = commands.add_parser("config", help="look at the configuration")
    actions = config.add_subparsers(dest="action", required=True, metavar="ACTION")
    check = actions.add_parser("check", help="say whether `run` would start with the configuration")
    check.add_argument("--config", metavar="FILE")
    check.add_argument("--connect", action="store_true", help="ask brokers, database and receivers too; writes nothing")
    output_option(check)
    check.set_defaults(handle=run_by("config_check"))

    init = actions.add_parser("init", help="write a commented configuration for a live cluster")
    asked = init.add_mutually_exclusive_group()
    asked.add_argument("--bootstrap-servers", metavar="HOST:PORT,…", help="brokers that ask for no credentials")
    asked.add_argument("--config", metavar="FILE", help="a configuration that says how the cluster is reached")
    init.add_argument("--out", metavar="FILE", help="a file that is not there yet (default: print it)")
    init.set_defaults(handle=run_by("config_init"))

    default = actions.add_parser("default", help="print every key with its default and what it is for")
    default.set_defaults(handle=run_by("config_check", "config_default"))

    rights = actions.add_parser("rights", help="print the kafka-acls.sh commands for the rights that are needed")
    rights.add_argument("--config", metavar="FILE")
    rights.add_argument("--principal", metavar="TYPE:NAME", help="whose rights (default: User: and sasl.username)")
    rights.set_defaults(handle=run_by("config_check", "config_rights"))

    maintenance = commands.add_parser("maintenance", help="windows during which nobody is notified of incidents")
    windows = maintenance.add_subparsers(dest="action", required=True, metavar="ACTION")
    add = windows.add_parser("add", help="begin or plan a window")
    add.add_argument("--groups", required=True, metavar="PATTERN", help="group ids, with * and ? as in file names")
    add.add_argument("--cluster", default="*", metavar="PATTERN", help="the cluster's name, likewise (default: all)")
    add.add_argument("--owner", required=True, help="who answers for it")
    add.add_argument("--reason", required=True)
    add.add_argument("--for", dest="lasts", required=True, metavar="TIME", help="90m, 2h, 1d12h; 7 days at most")
    add.add_argument("--begins", metavar="MOMENT", help="such as 2026-01-10T20:00:00Z (default: now)")
    show = windows.add_parser("list", help="windows that run or are planned")
    show.add_argument("--all", action="store_true", dest="everything", help="those of the past too")
    output_option(show)
    end = windows.add_parser("end", help="end a window before its time")
    end.add_argument("window_id", metavar="ID", help="as `maintenance list` shows it")
    for action, name in ((add, "add"), (show, "show"), (end, "end")):
        action.add_argument("--config", metavar="FILE")
        action.set_defaults(handle=run_by("maintenance", name))

    gaps = commands.add_parser("gaps", help="what was gone before it could be read")
    steps = gaps.add_subparsers(dest="action", required=True, metavar="ACTION")
    open_gaps = steps.add_parser("list", help="gaps that nobody has acknowledged")
    open_gaps.add_argument("--all", action="store_true", dest="everything", help="acknowledged ones too")
    output_option(open_gaps)
    noted = steps.add_parser("acknowledge", help="take note of gaps, so that the monitor says no more of them")
    noted.add_argument("--cluster", metavar="NAME", help="of this cluster only")
    noted.add_argument("--topic", metavar="TOPIC", help="of this topic only")
    for action, name in ((open_gaps, "show"), (noted, "acknowledge")):
        action.add_argument("--config", metavar="FILE")
        action.set_defaults(handle=run_by("gaps", name))

    add_group_commands(commands)

    rules = commands.add_parser("rules", help="list what is judged, or show the runbook of one rule")
    rules.add_argument("name", nargs="?", metavar="TITLE_OR_CODE")
    output_option(rules)
    rules.set_defaults(handle=run_by("rules"))

    dashboards = commands.add_parser("dashboards", help="build or publish dashboards and alert rules")
    dashboards.add_argument(
        "rest", nargs=argparse.REMAINDER, metavar="build|publish ...", help="each tells its options with --help"
    )
    dashboards.set_defaults(handle=_dashboards)

    completion = commands.add_parser("completion", help="print what a shell reads to complete commands and options")
    completion.add_argument("shell", choices=SHELLS)
    completion.set_defaults(handle=_completion)
    show_examples(top)
    return top


def plan_arguments(command: argparse.ArgumentParser, families: Iterable[str]) -> None:
    """The arguments of a command that solves cases of these families."""
    command.add_argument("--family", required=True, metavar="NAME", help=f"which kind of cases: {', '.join(families)}")
    command.add_argument("file", nargs="?", default="-", metavar="FILE|-", help="JSON lines, gzip too; - reads stdin")
    command.add_argument(
        "-o", "--output", choices=("json", "table"), default="json", help="for programs (the default), or for people"
    )


def _completion(arguments: argparse.Namespace) -> int:
    from .completion import completion

    print(completion(parser(), arguments.shell))
    return 0


def _dashboards(arguments: argparse.Namespace) -> int:
    action, rest = (arguments.rest[0], arguments.rest[1:]) if arguments.rest else ("", [])
    if action not in ("build", "publish"):
        raise InputError("dashboards needs an action: build or publish")
    try:
        from rebalance_monitor.dashboards import build, publish
    except ImportError as why:
        raise InputError(f"{why.name} is not installed; install rebalance-monitor[dashboards]") from why
    return int(build.main(rest) if action == "build" else publish.main(rest))
