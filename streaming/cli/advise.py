"""`advise`: what a group's past rebalances would have been under another setting, assignor or release."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.durations import duration
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.whatif.change import CannotPredict, WrongChange
from rebalance_monitor.streaming.stories.whatif.connect import DEFAULT_PRESUMED
from rebalance_monitor.streaming.stories.whatif.connect_history import under_delay
from rebalance_monitor.streaming.stories.whatif.connect_past import shown_max_delay_ms
from rebalance_monitor.streaming.stories.whatif.history import HistoryAnswer, under_assignor
from rebalance_monitor.streaming.stories.why import MOST_REBALANCES
from .exit_codes import CANNOT_TELL, DONE, InputError
from .group_questions import question_of
from .moments import duration_ms
from .output import print_for_programs

CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
DELAY = "scheduled.rebalance.max.delay.ms"


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
    generations = list(islice(question.source.generations(key, question.since_ms), MOST_REBALANCES))
    delay_ms = None if arguments.delay is None else duration_ms(arguments.delay, "--delay")
    told: dict[str, Any] = {
        "kind": "advice", "cluster": key[0], "group": key[1], "assignor": arguments.assignor,
        "release": arguments.release, "max_delay_ms": delay_ms, "answer": None, "why_not": None,
    }  # fmt: skip
    try:
        if delay_ms is None:
            setting = _assignor(arguments.assignor, arguments.release)
            answer = under_assignor(generations, arguments.assignor, arguments.release)
        else:
            answer = under_delay(generations, delay_ms)
            setting = _delay(generations, delay_ms)
    except WrongChange as why:
        raise InputError(str(why)) from None
    except CannotPredict as why:
        told["why_not"] = str(why)
    else:
        told["answer"] = _object(answer, setting)
    if arguments.output != "table":
        print_for_programs(told, arguments.output)
    elif told["answer"] is None:
        print(f"{key[1]} ({key[0]}): cannot tell: {told['why_not']}")
    else:
        _print(f"{key[1]} ({key[0]}) with {setting.title}:", told["answer"], setting)
    return CANNOT_TELL if told["answer"] is None else DONE


def _assignor(name: str, release: str | None) -> Setting:
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
        diff=(f"+partition.assignment.strategy=org.apache.kafka.clients.consumer.{CLASSES.get(name, name)}",),
    )


def _delay(generations: Sequence[Published], delay_ms: int) -> Setting:
    shown_ms = shown_max_delay_ms(generations)
    before = [] if shown_ms is None else [f"-{DELAY}={shown_ms}"]
    instead = "" if shown_ms is None else f" instead of {duration(shown_ms)}"
    return Setting(
        title=f"a delay of {duration(delay_ms)}{instead}",
        figures={
            "rebalances": "rebalances",
            "moved": "connectors and tasks that workers gained",
            "idle_ms": "time without a worker, all connectors and tasks together",
        },
        presumed="Presumed: the same workers come, go and lead at the same times, and what is configured is what the"
        " records show. Rebalances take no time here, only delays and absences do; a delay that runs at the end runs to"
        f" its end.{'' if shown_ms is not None else f' {DEFAULT_PRESUMED}.'}",
        diff=(
            "worker properties:", *before, f"+{DELAY}={delay_ms}",
            "Strimzi, KafkaConnect, spec.config:", *(line.replace("=", ": ") for line in before),
            f"+{DELAY}: {delay_ms}",
        ),
    )  # fmt: skip


def _object(answer: HistoryAnswer, setting: Setting) -> dict[str, Any]:
    return {
        "recorded": {figure: getattr(answer.recorded, figure) for figure in setting.figures},
        "computed": {figure: list(answer.range_of(figure)) for figure in setting.figures},
        "left_out": dict(answer.left_out),
        "presumed": setting.presumed,
        "diff": list(setting.diff),
    }


def _print(title: str, answer: Mapping[str, Any], setting: Setting) -> None:
    print(title)
    for figure, words in setting.figures.items():
        least, most = (_amount(figure, one) for one in answer["computed"][figure])
        after = least if least == most else f"{least} to {most}"
        print(f"  {words}: {after} instead of {_amount(figure, answer['recorded'][figure])}")
    for why, count in answer["left_out"].items():
        print(f"  left out: {counted(count, 'rebalance')}: {why}")
    print(f"  {setting.presumed}")
    for line in setting.diff:
        print(f"  {line}")


def _amount(figure: str, amount: int) -> str:
    return duration(amount) if figure.endswith("_ms") else str(amount)
