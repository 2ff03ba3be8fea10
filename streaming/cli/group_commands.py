"""Arguments of the commands about groups: `status`, `explain`, `why`, `wait`, `whatif`, `cost`, `advise`."""

import argparse
from typing import Any

from .arguments import output_option, run_by, whole_number
from .examples import Examples

SOURCE_HELP = (
    "The answers come from the page of a running monitor: --url, else REBALANCE_MONITOR_URL, else"
    " http://127.0.0.1:9471. A token of page.tokens goes into REBALANCE_MONITOR_TOKEN; a user and a password (HTTP's"
    " basic scheme) into the address. SSL_CERT_FILE names certificates of an authority of your own. With --capture they"
    " come from captured records."
)
_STATUS = """examples:
  rebalance-monitor status                              every group, harmed ones first
  rebalance-monitor status --watch                      the same, kept live
  rebalance-monitor status --group orders               one group in six lines
  rebalance-monitor status --group orders --since 1h    and what happened to it in the last hour
  rebalance-monitor status --at 2026-11-20T12:30:35Z --capture tests/vectors/captures/zombie
"""
_EXPLAIN = """examples:
  rebalance-monitor explain --group orders                   the last rebalance that moved or stopped something
  rebalance-monitor explain --group orders --generation 41   this one
  rebalance-monitor explain --group orders --since 30m       all of the last half hour, the oldest first
  rebalance-monitor explain --group zombies --generation 9 --capture tests/vectors/captures/zombie
"""
_WHY = """examples:
  rebalance-monitor why --group orders                  the causes of its rebalances in seven days, as a ranking
  rebalance-monitor why --all-groups --since 1d         of each group that rebalanced
  rebalance-monitor why --at-once --since 1h            what groups share that rebalanced within seconds
  rebalance-monitor why --group zombies --capture tests/vectors/captures/zombie
"""
_COST = """examples:
  rebalance-monitor cost                                     the last 30 days, by cause
  rebalance-monitor cost --since 90d --by month,team         whose groups cost what in each month
  rebalance-monitor cost --group orders --by rebalance       each rebalance of a group
  rebalance-monitor cost --capture tests/vectors/captures/zombie --by cause

Sums are over whole days, in UTC. docs/cost.md says what each figure is, and what is not known.
"""
_WAIT = """examples:
  rebalance-monitor wait --group orders --stable 30s --timeout 10m     after a deployment
  rebalance-monitor wait --group orders --caught-up                    and until it has nothing left to read
  rebalance-monitor wait --group app --streams-warm --timeout 1h       and until no warm-up is due
  rebalance-monitor wait --all-groups --cluster production             every group of a cluster

It watches for as long as --stable says, so that a rebalance which begins a moment later is not missed; asking twice in
a row waits twice. It does not look at incidents: `status` does. Without --timeout it waits until it is ended.
Exit codes: 0 it is so; 5 the time is over, with one sentence that says what it waits for and until when.
"""
_WHATIF = """examples:
  rebalance-monitor whatif --group sinks --leave worker-3:8083        the rebalances after a worker has left
  rebalance-monitor whatif --group sinks --join 2 --scale orders=12   all of it at once
  rebalance-monitor whatif --group sinks --bounce worker-3:8083 --away 20s
  rebalance-monitor whatif --all-groups --leave 10.0.3.4              a host is drained: what it brings to each group
  rebalance-monitor whatif --group zombies --join 1 --at 2026-11-20T12:28:40Z --capture tests/vectors/captures/zombie

A member is named by its worker, instance id, client id or member id; a host stands for all members on it. A member that
ends without leaving counts as gone when its session time-out is over. Kafka Connect and consumers of the classic
protocol are predicted; of Kafka Streams figures of the next rebalance, as a range, and what is certain.
Exit codes: 0 predicted; 3 cannot tell, with a sentence that says why.
"""
_ADVISE = """examples:
  rebalance-monitor advise --group orders               what settings that need no value would have saved in seven days
  rebalance-monitor advise --group orders --assignor cooperative-sticky
  rebalance-monitor advise --group orders --assignor range --release 3.9 --since 30d
  rebalance-monitor advise --group orders --static --session 2m
  rebalance-monitor advise --group orders --members 6
  rebalance-monitor advise --group app --standbys 1
  rebalance-monitor advise --group sinks --delay 60s
  rebalance-monitor advise --group sinks --workers 6
  rebalance-monitor advise --group sinks --release 4.3 --protocol sessioned
  rebalance-monitor advise --group orders --protocol consumer
  rebalance-monitor advise --group connect-main --delay 30s --capture tests/vectors/captures/sessioned-4.3.1

Consumer groups and Kafka Streams of the classic protocol, and Kafka Connect. docs/advise.md says what is presumed.
Exit codes: 0 computed; 3 cannot tell, with a sentence that says why.
"""


def add_group_commands(commands: Any) -> None:
    """`commands` is what argparse calls sub-parsers."""
    command = _command(commands, "status", "how groups stand: harmed ones first, or one in six lines", _STATUS)
    _logs(command)
    _which(command, "all groups, in a table (the default)")
    _moments(command, "also what happened in the time before, such as 30m")
    command.add_argument("--watch", action="store_true", help="show it anew whenever something changed, until Ctrl-C")
    output_option(command, ("table", "json", "yaml"))

    command = _command(commands, "explain", "tell a rebalance: what happened, why, what the assignor did", _EXPLAIN)
    _logs(command)
    _which(command, "the last one of every group")
    _moments(command, "every rebalance that moved or stopped something in the time before, such as 30m")
    command.add_argument(
        "--generation", type=whole_number, metavar="NUMBER", help="this generation (or assignment epoch)"
    )
    output_option(command, ("table", "json", "yaml"))

    command = _command(commands, "why", "rank why a group rebalances, or say why many groups did at once", _WHY)
    _logs(command)
    _which(command, "every group that rebalanced")
    _moments(command, "the time to look at (default: 7d; with --at-once: 1h)")
    command.add_argument("--at-once", action="store_true", help="rebalances of many groups within seconds as one event")
    output_option(command, ("table", "json", "yaml"))

    command = _command(commands, "cost", "what rebalances cost: moved, unassigned, stopped, held up", _COST)
    _logs(command)
    command.add_argument("--group", metavar="ID", help="of this group only")
    command.add_argument("--cluster", metavar="NAME", help="of this cluster only")
    command.add_argument("--since", default="30d", metavar="TIME", help="from so long ago on (default: 30d)")
    _at(command, "until then")
    command.add_argument(
        "--by", default="cause", metavar="WORDS", help="split by cluster, group, team, connector, cause, month, day or "
        "rebalance, or by several, separated by commas (default: cause)",
    )  # fmt: skip
    output_option(command, ("table", "json", "yaml"))

    command = _command(commands, "wait", "wait, in a pipeline, until a group has come to rest", _WAIT)
    _which(command, "until every group has")
    command.add_argument("--at", metavar="TIME", help="of a capture: as it was then, such as 2026-01-10T20:00:00Z")
    command.add_argument("--stable", default="30s", metavar="TIME", help="no new generation for so long (default: 30s)")
    command.add_argument("--timeout", metavar="TIME", help="give up after so long, such as 10m")
    command.add_argument("--streams-warm", action="store_true", help="and no warm-up of a Streams application is due")
    command.add_argument(
        "--caught-up", nargs="?", type=whole_number, const=0, metavar="RECORDS",
        help="and the members lag so many records at most (default: 0), asked since the last rebalance",
    )  # fmt: skip
    output_option(command, ("table", "json", "yaml"))

    command = _command(commands, "whatif", "predict the rebalances that a change of a group brings", _WHATIF)
    _which(command, "every group that the change is about")
    _at(command, "as it was then")
    _changes(command)
    output_option(command, ("table", "json", "yaml"))

    command = _command(commands, "advise", "past rebalances under another setting, assignor or release", _ADVISE)
    _one_group(command)
    command.add_argument("--since", default="7d", metavar="TIME", help="the time to look at (default: 7d)")
    _at(command, "until then")
    command.add_argument("--assignor", metavar="NAME", help="of consumers, as a record names it, such as sticky")
    command.add_argument("--static", action="store_true", help="of consumers: static members (group.instance.id)")
    command.add_argument("--session", metavar="TIME", help="with --static: session.timeout.ms, such as 2m")
    command.add_argument("--delay", metavar="TIME", help="scheduled.rebalance.max.delay.ms of Connect, such as 60s")
    command.add_argument("--protocol", metavar="NAME", help="of Connect compatible or sessioned, of consumers consumer")
    command.add_argument(
        "--workers", type=whole_number, metavar="NUMBER", help="so many workers of Connect most of the time"
    )
    command.add_argument("--members", type=whole_number, metavar="NUMBER", help="so many consumers most of the time")
    command.add_argument(
        "--standbys", type=whole_number, metavar="NUMBER", help="num.standby.replicas of Kafka Streams"
    )
    command.add_argument("--warm-ups", type=whole_number, metavar="NUMBER", help="max.warmup.replicas of Kafka Streams")
    command.add_argument(
        "--acceptable-lag", type=whole_number, metavar="RECORDS", help="acceptable.recovery.lag of Streams"
    )
    command.add_argument("--steps", action="store_true", help="also the rolling restarts, and what each step moves")
    command.add_argument("--release", metavar="NUMBER", help="of Connect or of the consumers, such as 4.3")
    output_option(command, ("table", "json", "yaml"))


def _changes(command: argparse.ArgumentParser) -> None:
    several: dict[str, Any] = {"action": "append", "default": []}
    command.add_argument("--leave", metavar="MEMBER", help="this member leaves; may be given several times", **several)
    command.add_argument("--join", type=whole_number, default=0, metavar="NUMBER", help="so many new members join")
    command.add_argument(
        "--bounce", metavar="MEMBER", help="this member leaves, and a new process comes in its place", **several
    )
    command.add_argument("--away", default="30s", metavar="TIME", help="how long those are away (default: 30s)")
    command.add_argument(
        "--scale", metavar="CONNECTOR=TASKS", help="this connector of a Connect group has so many tasks", **several
    )
    command.add_argument(
        "--max-delay", metavar="TIME",
        help="the workers' scheduled.rebalance.max.delay.ms (default: what the last wait shows, else 5m)",
    )  # fmt: skip


def _command(commands: Any, name: str, help_text: str, examples: str) -> argparse.ArgumentParser:
    added: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=f"{help_text[0].upper()}{help_text[1:]}. {SOURCE_HELP}",
        epilog=examples,
        formatter_class=Examples,
    )
    added.set_defaults(handle=run_by(name))
    where = added.add_mutually_exclusive_group()
    where.add_argument("--url", help="the address of the monitor's page, such as https://monitor.example.org")
    where.add_argument("--capture", metavar="DIR|FILE|-", help="a capture instead, as `replay` reads it")
    return added


def _logs(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--coordinator-log", action="append", metavar="FILE",
        help="with --capture: a broker's log, which says why its groups rebalanced; may be given several times",
    )  # fmt: skip


def _which(command: argparse.ArgumentParser, all_groups: str) -> None:
    which = command.add_mutually_exclusive_group()
    which.add_argument("--group", action="append", metavar="ID", help="this group; may be given several times")
    which.add_argument("--all-groups", action="store_true", help=all_groups)
    command.add_argument("--cluster", metavar="NAME", help="of this cluster only")


def _one_group(command: argparse.ArgumentParser) -> None:
    command.add_argument("--group", required=True, metavar="ID", help="this group")
    command.add_argument("--cluster", metavar="NAME", help="of this cluster only")


def _moments(command: argparse.ArgumentParser, since: str) -> None:
    command.add_argument("--since", metavar="TIME", help=since)
    _at(command, "as it was then")


def _at(command: argparse.ArgumentParser, which: str) -> None:
    command.add_argument(
        "--at", metavar="TIME", help=f"{which}, such as 2026-01-10T20:00:00Z (default: now, or a capture's end)"
    )
