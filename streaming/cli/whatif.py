"""`whatif`: the rebalances that a change of a group would bring, told or as objects for programs."""

import argparse
from typing import Any

from rich.text import Text

from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.stories.known import GroupFacts
from rebalance_monitor.streaming.stories.whatif.change import MOST_JOINING, CannotPredict, GroupChange, WrongChange
from rebalance_monitor.streaming.stories.whatif.outcome import Prediction
from rebalance_monitor.streaming.stories.whatif.prediction import predicted, within
from rebalance_monitor.streaming.stories.whatif.told import as_object, chapters
from .exit_codes import CANNOT_TELL, DONE, InputError
from .group_questions import question_of
from .moments import duration_ms, setting_ms
from .output import print_for_programs
from .terminal import Terminal

MOST_TASKS = 10_000


def whatif(arguments: argparse.Namespace) -> int:
    """CANNOT_TELL where nothing can be predicted of any group; a sentence says why."""
    if not arguments.group and not arguments.all_groups:
        raise InputError("say which group is meant: --group ID, or --all-groups")
    change, question = change_of(arguments), question_of(arguments)
    asked = predictable = 0
    for key in question.every():
        known = question.source.known(key)
        own = change if question.groups else within(change, known)
        if not own and change:
            continue
        prediction = _predicted(own, known, alone=bool(question.groups))
        _print(own, known, prediction, arguments.output)
        asked, predictable = asked + 1, predictable + bool(prediction.cases or prediction.ranges)
    if not asked:
        raise InputError(
            f"no group has these members or connectors ({change.text()}); see `status` for those there are"
        )
    return DONE if predictable else CANNOT_TELL


def _predicted(change: GroupChange, known: GroupFacts, *, alone: bool) -> Prediction:
    """`alone`: the change was meant for this group, so one that does not fit it is a mistake."""
    try:
        return predicted(change, known)
    except (CannotPredict, WrongChange) as why:
        if isinstance(why, WrongChange) and (alone or not change):
            raise InputError(str(why)) from None
        return Prediction(cases=(), unknown=(f"{str(why)[0].upper()}{str(why)[1:]}.",))


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
