"""`whatif`: the rebalances that a change of a group would bring, told or as objects for programs."""

import argparse
from typing import Any

from rich.text import Text

from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.stories.known import GroupFacts
from rebalance_monitor.streaming.stories.whatif.change import MOST_JOINING, CannotPredict, GroupChange, WrongChange
from rebalance_monitor.streaming.stories.whatif.outcome import Prediction
from rebalance_monitor.streaming.stories.whatif.prediction import predicted
from rebalance_monitor.streaming.stories.whatif.told import as_object, chapters
from .exit_codes import CANNOT_TELL, DONE, InputError
from .group_questions import question_of
from .moments import duration_ms, setting_ms
from .output import print_for_programs
from .terminal import Terminal

MOST_TASKS = 10_000


def whatif(arguments: argparse.Namespace) -> int:
    """CANNOT_TELL where nothing can be predicted; a sentence says why."""
    change = change_of(arguments)
    arguments.group = [arguments.group]
    question = question_of(arguments)
    known = question.source.known(question.names()[0])
    try:
        prediction = predicted(change, known)
    except WrongChange as why:
        raise InputError(str(why)) from None
    except CannotPredict as why:
        prediction = Prediction(cases=(), unknown=(f"{str(why)[0].upper()}{str(why)[1:]}.",))
    _print(change, known, prediction, arguments.output)
    return DONE if prediction.cases else CANNOT_TELL


def change_of(arguments: argparse.Namespace) -> GroupChange:
    """The change that is asked about. InputError where an option does not say what it should."""
    if not 0 <= arguments.join <= MOST_JOINING:
        raise InputError(f"--join {arguments.join}: write 1 to {MOST_JOINING}")
    scaled = [_scaled(text) for text in arguments.scale]
    if len(dict(scaled)) < len(scaled):
        raise InputError("--scale names a connector twice; name each once")
    return GroupChange(
        leave=tuple(arguments.leave),
        join=arguments.join,
        scale=dict(scaled),
        bounce=tuple(arguments.bounce),
        away_ms=duration_ms(arguments.away, "--away"),
        max_delay_ms=None if arguments.max_delay is None else setting_ms(arguments.max_delay, "--max-delay"),
    )


def _scaled(text: str) -> tuple[str, int]:
    name, _, count = text.rpartition("=")
    if not name or not count.isascii() or not count.isdigit():
        raise InputError(f"--scale {text!r} is no connector with a number of tasks; write --scale orders=12")
    if len(count) > len(str(MOST_TASKS)) or int(count) > MOST_TASKS:
        raise InputError(f"--scale {text}: {MOST_TASKS:,} tasks at most")
    return name, int(count)


def _print(change: GroupChange, known: GroupFacts, prediction: Prediction, output: str) -> None:
    latest = known.latest
    if output != "table":
        print_for_programs(_object(change, known, prediction), output)
        return
    console = Terminal()
    at = "" if latest is None else f", after generation {latest['generation']}"
    title = f"{known.group['group']} ({known.group['cluster']}) at {utc(known.now_ms)}{at}: {change.text()}"
    console.print(Text(title, style="bold"), soft_wrap=True)
    for chapter in chapters(prediction):
        console.print(Text(f"\n{chapter.title}", style="cyan"), soft_wrap=True)
        for sentence in chapter.sentences:
            console.print_point("- ", sentence)
    console.print()


def _object(change: GroupChange, known: GroupFacts, prediction: Prediction) -> dict[str, Any]:
    latest = known.latest
    return {
        "kind": "prediction",
        "cluster": known.group["cluster"],
        "group": known.group["group"],
        "generation": None if latest is None else latest["generation"],
        "at_ms": known.now_ms,
        "change": change.text(),
        **as_object(prediction),
    }
