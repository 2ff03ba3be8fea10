"""Arguments of the commands that take records along: `capture` and `bundle`."""

from typing import Any

from .arguments import output_option, run_by


def add_capture_commands(commands: Any) -> None:
    """`commands` is what argparse calls sub-parsers."""
    command = commands.add_parser("capture", help="take a capture of a live cluster, which other commands read")
    command.add_argument("--out", required=True, metavar="DIR", help="a folder that is not there yet")
    _live(command.add_mutually_exclusive_group())
    command.add_argument("--cluster", metavar="NAME", help="which one of the configuration")
    command.add_argument("--group", action="append", default=[], metavar="PATTERN", help="only these, with * and ?")
    command.add_argument("--since", metavar="TIME", help="records of groups of the time before, such as 30m")
    command.add_argument("--for", dest="lasts", metavar="TIME", help="and go on reading for so long, such as 10m")
    command.add_argument("--max-bytes", default="256m", metavar="SIZE", help="of all records together (default: 256m)")
    output_option(command, ("table", "json", "yaml"))
    command.set_defaults(handle=run_by("capture"))

    command = commands.add_parser(
        "bundle", help="write one file about a group for whoever helps: records, verdicts, story; no secrets"
    )
    command.add_argument("--out", required=True, metavar="FILE", help="a zip that is not there yet")
    command.add_argument("--group", action="append", required=True, metavar="PATTERN", help="these, with * and ?")
    where = command.add_mutually_exclusive_group()
    where.add_argument("--capture", metavar="DIR|FILE", help="a capture instead of a live cluster")
    _live(where)
    command.add_argument("--cluster", metavar="NAME", help="which one of the configuration")
    command.add_argument("--since", metavar="TIME", help="of a live cluster: records of the time before, such as 2h")
    command.add_argument(
        "--at", metavar="TIME", help="as it was then, such as 2026-01-10T20:00:00Z (default: at the last record)"
    )
    command.add_argument(
        "--shareable", action="store_true", help="digests for names, hosts and client ids; verdicts without records"
    )
    output_option(command)
    command.set_defaults(handle=run_by("bundle"))


def _live(where: Any) -> None:
    where.add_argument("--config", metavar="FILE", help="the configuration that `run` has")
    where.add_argument("--bootstrap-servers", metavar="HOST:PORT,…", help="brokers that ask for no credentials")
