"""`advise`: what a group's past rebalances would have been under another setting, assignor or release."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.durations import exact
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.whatif.change import CannotPredict, WrongChange
from rebalance_monitor.streaming.stories.whatif.connect import DEFAULT_PRESUMED
from rebalance_monitor.streaming.stories.whatif.connect_history import ConnectSetting, under_setting
from rebalance_monitor.streaming.stories.whatif.connect_past import shown_max_delay_ms
from rebalance_monitor.streaming.stories.whatif.history import HistoryAnswer, least_and_most, under_assignor
from rebalance_monitor.streaming.stories.whatif.static_history import StaticAnswer, under_static_members
from rebalance_monitor.streaming.stories.why import MOST_REBALANCES
from rebalance_monitor.streaming.web.rows import NOBODY
from .exit_codes import CANNOT_TELL, DONE, InputError
from .group_questions import question_of
from .moments import setting_ms
from .output import print_for_programs

CLASSES = {
    name: f"org.apache.kafka.clients.consumer.{of_java}Assignor"
    for name, of_java in (
        ("range", "Range"), ("roundrobin", "RoundRobin"), ("sticky", "Sticky"),
        ("cooperative-sticky", "CooperativeSticky"),
    )
}  # fmt: skip
EAGER_SETTING = "eager"
"""What connect.protocol calls the protocol that records name `default`."""
USUAL_SESSIONS_MS = (6_000, 1_800_000)
_NOT_USUAL = (
    " Brokers refuse members with this session.timeout.ms unless group.min.session.timeout.ms (6 s by default) and"
    " group.max.session.timeout.ms (30 min) allow it; and clients want heartbeat.interval.ms (3 s) to be less."
)
_OF_THE_FIRST = ("moved", "stopped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is asked about. `figures`: those that it changes, with their words; `diff`: what to change, a line each."""

    title: str
    figures: Mapping[str, str]
    presumed: str
    diff: Sequence[str]


def advise(arguments: argparse.Namespace) -> int:
    """CANNOT_TELL where nothing can be computed; a sentence says why."""
    arguments.group = [arguments.group]
    question = question_of(arguments)
    key = question.names()[0]
    found = question.source.generations(key, question.since_ms)
    generations = list(islice(found, MOST_REBALANCES))
    whole = next(found, None) is None
    asked = _asked(arguments)
    session_ms = None if arguments.session is None else setting_ms(arguments.session, "--session")
    told: dict[str, Any] = {
        "kind": "advice", "cluster": key[0], "group": key[1], "assignor": arguments.assignor,
        "static_members": arguments.static, "session_timeout_ms": session_ms,
        "release": arguments.release, "max_delay_ms": asked.delay_ms, "protocol": arguments.protocol, "answer": None,
        "why_not": None,
    }  # fmt: skip
    try:
        if arguments.assignor is not None:
            answer = under_assignor(generations, arguments.assignor, arguments.release)
            setting = _assignor(generations[0]["protocol"], arguments.assignor, arguments.release)
        elif arguments.static:
            static = under_static_members(generations, session_ms)
            answer, setting = static.answer, _static(static, session_ms, "streams" in generations[0])
        else:
            answer = under_setting(generations, asked)
            setting = _connect(generations, asked)
    except WrongChange as why:
        raise InputError(str(why)) from None
    except CannotPredict as why:
        told["why_not"] = str(why)
    else:
        if question.source.known(key, 1).group["status"] in NOBODY:
            answer = replace(answer, first=())
        told["answer"] = {**_object(answer, setting), "all": whole}
    if arguments.output != "table":
        print_for_programs(told, arguments.output)
    elif told["answer"] is None:
        print(f"{key[1]} ({key[0]}): cannot tell: {told['why_not']}")
    else:
        _print(f"{key[1]} ({key[0]}) with {setting.title}:", told["answer"], setting)
    return CANNOT_TELL if told["answer"] is None else DONE


def _assignor(own: str, name: str, release: str | None) -> Setting:
    return Setting(
        title=f"{name} of Kafka {release}" if release else name,
        figures={
            "rebalances": "rebalances",
            "moved": "partitions that members gained",
            "stopped": "partitions taken from members that stayed",
        },
        presumed="Presumed: equal subscriptions, no racks, and the same members at the same times. How long a rebalance"
        " takes is in no record, so no time is given. From and to are of the courses that were computed: one for each"
        " release that differs, and of cooperative-sticky with and without a second rebalance before the next member"
        " comes or goes.",
        diff=() if own == name else tuple(_restarts(own, name)),
    )


def _restarts(own: str, name: str) -> Iterator[str]:
    """A member joins only if it has an assignor that all others have, too: so both are there between two restarts."""
    setting = "partition.assignment.strategy="
    if own in CLASSES:
        yield "first rolling restart:"
        yield f"+{setting}{CLASSES[name]},{CLASSES[own]}"
        yield "second rolling restart:"
        yield f"-{setting}{CLASSES[name]},{CLASSES[own]}"
    yield f"+{setting}{CLASSES[name]}"


def _static(found: StaticAnswer, session_ms: int | None, of_streams: bool) -> Setting:
    least, most = min(found.for_good), max(found.for_good)
    gone = f"{least} to {most}" if most > least else str(most)
    noticed = f", up to {exact(found.session_ms)} after they went" if most else ""
    times = "" if session_ms is None else f" and a session time-out of {exact(session_ms)}"
    usual = session_ms is None or USUAL_SESSIONS_MS[0] <= session_ms <= USUAL_SESSIONS_MS[1]
    return Setting(
        title=f"static members{times}",
        figures={
            "rebalances": "rebalances",
            "moved": "tasks and copies that threads gained" if of_streams else "partitions that members gained",
        },
        presumed="Presumed: a process is away as long as between the two records, and comes back with its client id."
        " From and to are of who of several with one client id came back, and of whether those of whom no record tells"
        " left by a request or were removed after their session time-out. Members that went and were not back in time:"
        f" {gone}; without a request to leave they are noticed only when their session time-out is over{noticed}, and"
        f" nobody reads their partitions until then.{'' if usual else _NOT_USUAL}",
        diff=(
            "+group.instance.id=<another one for each process>",
            *([] if session_ms is None else [f"+session.timeout.ms={session_ms}"]),
        ),
    )


def _asked(arguments: argparse.Namespace) -> ConnectSetting:
    delay_ms = None if arguments.delay is None else setting_ms(arguments.delay, "--delay")
    asked = ConnectSetting(delay_ms, arguments.release, arguments.protocol)
    if arguments.static:
        if arguments.assignor is not None or asked != ConnectSetting():
            raise InputError("--static is answered by itself; leave the other settings out")
        return asked
    if arguments.session is not None:
        raise InputError("--session is of static members; give --static, too")
    if arguments.assignor is None and asked == ConnectSetting():
        raise InputError(
            "say what is to differ: --assignor or --static of consumers; --delay, --release or --protocol of Connect"
        )
    if arguments.assignor is not None and (delay_ms is not None or arguments.protocol is not None):
        raise InputError("--assignor is of consumers, --delay and --protocol are of Connect; give one of both")
    return asked


def _connect(generations: Sequence[Published], asked: ConnectSetting) -> Setting:
    shown_ms, protocol = shown_max_delay_ms(generations), generations[0]["protocol"]
    presumes = shown_ms is None and asked.delay_ms is None
    named: list[str] = []
    changed: list[tuple[str, object, object]] = []
    if asked.release is not None:
        named.append(f"Kafka {asked.release}")
    if asked.protocol is not None:
        named.append(f"the protocol {asked.protocol}{_instead(protocol, asked.protocol)}")
        changed.append(("connect.protocol", EAGER_SETTING if protocol == EAGER else protocol, asked.protocol))
    if asked.delay_ms is not None:
        shown = None if shown_ms is None else exact(shown_ms)
        named.append(f"a delay of {exact(asked.delay_ms)}{_instead(shown, exact(asked.delay_ms))}")
        changed.append(("scheduled.rebalance.max.delay.ms", shown_ms, asked.delay_ms))
    changed = [(name, old, new) for name, old, new in changed if old != new]
    lines = [
        [f"-{name}{sign}{old}"] * (old is not None) + [f"+{name}{sign}{new}"]
        for sign in ("=", ": ")
        for name, old, new in changed
    ]
    half = len(lines) // 2
    return Setting(
        title=" and ".join(named),
        figures={
            "rebalances": "rebalances",
            "moved": "connectors and tasks that workers gained",
            "stopped": "connectors and tasks that workers that stayed had to stop",
            "imbalanced": "rebalances that left workers with tasks that differ by more than one",
            "idle_ms": "time without a worker, all connectors and tasks together",
        },
        presumed="Presumed: the same workers come, go and lead at the same times, and what is configured is what the"
        " records show. Rebalances take no time here, only delays and absences do; a delay that runs at the end runs to"
        f" its end.{f' {DEFAULT_PRESUMED}.' if presumes else ''}",
        diff=(
            *(["worker properties:"] * bool(changed)), *chain(*lines[:half]),
            *(["Strimzi, KafkaConnect, spec.config:"] * bool(changed)), *chain(*lines[half:]),
        ),
    )  # fmt: skip


def _instead(old: str | None, new: str) -> str:
    return "" if old in (None, new) else f" instead of {old}"


def _object(answer: HistoryAnswer, setting: Setting) -> dict[str, Any]:
    return {
        "recorded": {figure: getattr(answer.recorded, figure) for figure in setting.figures},
        "computed": {figure: list(answer.range_of(figure)) for figure in setting.figures},
        "left_out": dict(answer.left_out),
        "first": {one: list(least_and_most(answer.first, one)) for one in _OF_THE_FIRST} if answer.first else None,
        "presumed": setting.presumed,
        "diff": list(setting.diff),
    }


def _print(title: str, answer: Mapping[str, Any], setting: Setting) -> None:
    print(title)
    for figure, words in setting.figures.items():
        after = _range(figure, *answer["computed"][figure])
        print(f"  {words}: {after} instead of {_amount(figure, answer['recorded'][figure])}")
    if answer["first"] is not None:
        moved, stopped = (_range("", *answer["first"][one]) for one in _OF_THE_FIRST)
        print(f"  the first rebalance after the change moves {moved} and stops {stopped}, if all workers are there")
    for why, count in answer["left_out"].items():
        print(f"  left out: {counted(count, 'rebalance')}: {why}")
    if not answer["all"]:
        print(f"  left out: all before the newest {MOST_REBALANCES:,} generations")
    print(f"  {setting.presumed}")
    for line in setting.diff:
        print(f"  {line}")


def _range(figure: str, least: int, most: int) -> str:
    return _amount(figure, least) + (f" to {_amount(figure, most)}" if most > least else "")


def _amount(figure: str, amount: int) -> str:
    """Times in seconds, so that two of them compare."""
    return f"{amount / 1000:,.0f} s" if figure.endswith("_ms") else str(amount)
