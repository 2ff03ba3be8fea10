"""`advise`: what a group's past rebalances would have been under another assignor or release."""

import argparse
from dataclasses import asdict
from itertools import islice
from typing import Any

from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.whatif.change import CannotPredict, WrongChange
from rebalance_monitor.streaming.stories.whatif.history import HistoryAnswer, under_assignor
from rebalance_monitor.streaming.stories.why import MOST_REBALANCES
from .exit_codes import CANNOT_TELL, DONE, InputError
from .group_questions import question_of
from .output import print_for_programs

CLASSES = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "sticky": "StickyAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}
FIGURES = {
    "rebalances": "rebalances",
    "moved": "partitions that members gained",
    "stopped": "partitions taken from members that stayed",
}
PRESUMED = (
    "Presumed: equal subscriptions, no racks, and the same members at the same times. How long a rebalance takes is in"
    " no record, so no time is given. From and to are of the courses that were computed: one for each release that"
    " differs, and of cooperative-sticky with and without a second rebalance before the next member comes or goes."
)


def advise(arguments: argparse.Namespace) -> int:
    """CANNOT_TELL where nothing can be computed; a sentence says why."""
    arguments.group = [arguments.group]
    question = question_of(arguments)
    key = question.names()[0]
    generations = list(islice(question.source.generations(key, question.since_ms), MOST_REBALANCES))
    told: dict[str, Any] = {"kind": "advice", "cluster": key[0], "group": key[1], "assignor": arguments.assignor}
    told |= {"release": arguments.release, "answer": None, "why_not": None}
    try:
        answer = under_assignor(generations, arguments.assignor, arguments.release)
    except WrongChange as why:
        raise InputError(str(why)) from None
    except CannotPredict as why:
        told["why_not"] = str(why)
    else:
        told["answer"] = _object(answer, arguments.assignor)
    if arguments.output != "table":
        print_for_programs(told, arguments.output)
    else:
        _print(told)
    return CANNOT_TELL if told["answer"] is None else DONE


def _object(answer: HistoryAnswer, name: str) -> dict[str, Any]:
    return {
        "recorded": asdict(answer.recorded),
        "computed": {figure: list(answer.range_of(figure)) for figure in FIGURES},
        "left_out": dict(answer.left_out),
        "presumed": PRESUMED,
        "diff": f"+partition.assignment.strategy=org.apache.kafka.clients.consumer.{CLASSES[name]}",
    }


def _print(told: dict[str, Any]) -> None:
    release = f" of Kafka {told['release']}" if told["release"] else ""
    print(f"{told['group']} ({told['cluster']}) with {told['assignor']}{release}:")
    answer = told["answer"]
    if answer is None:
        print(f"  cannot tell: {told['why_not']}")
        return
    for figure, words in FIGURES.items():
        least, most = answer["computed"][figure]
        after = str(least) if least == most else f"{least} to {most}"
        print(f"  {words}: {after} instead of {answer['recorded'][figure]}")
    for why, count in answer["left_out"].items():
        print(f"  left out: {counted(count, 'rebalance')}: {why}")
    print(f"  {answer['presumed']}")
    print(f"  {answer['diff']}")
