"""`explain`: a rebalance told in plain words; without other wish, the last one that moved or stopped something."""

import argparse
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rich.text import Text

from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.stories.explanation import (
    Chapter,
    Rebalance,
    disruptive,
    explanation,
    rebalance_of,
)
from rebalance_monitor.streaming.web.rows import GroupName
from .exit_codes import CANNOT_TELL, DONE, InputError
from .group_questions import Question, question_of
from .output import print_for_programs
from .terminal import Terminal

LOOKED_AT = 50
"""So many generations are looked at before more are read."""
Object = dict[str, Any]


def explain(arguments: argparse.Namespace) -> int:
    """CANNOT_TELL where no rebalance is known to tell."""
    if not arguments.group and not arguments.all_groups:
        raise InputError("say which group is meant: --group ID, or --all-groups")
    if arguments.generation is not None and arguments.since is not None:
        raise InputError("--generation and --since choose different rebalances; give one of them")
    question, told = question_of(arguments), False
    for key in question.every():
        for rebalance, note in chosen(question, key, arguments.generation):
            _print(rebalance, note, question.source.at_ms, arguments.output)
            told = True
    if not told and arguments.output == "table":
        print("no rebalance of that kind is known")
    return DONE if told else CANNOT_TELL


def chosen(question: Question, key: GroupName, number: int | None) -> Iterator[tuple[Rebalance, str]]:
    """The rebalances that are asked about, the oldest first, each with what is to be said of the choice."""
    known, incidents = _read(question, key, number)
    if number is not None:
        places = [at for at, one in enumerate(known) if one["generation"] == number]
        place = next((at for at in places if not known[at].get("repeats")), places[0] if places else None)
        if place is None:
            least, most = known[-1]["generation"], known[0]["generation"]
            raise InputError(
                f"generation {number} of {key[1]} is not among the last {len(known)} that are known, {least} to {most}"
            )
        yield rebalance_of(known, place, incidents), ""
    elif question.since_ms is not None:
        for place in reversed(range(len(known))):
            if disruptive(known[place], incidents):
                yield rebalance_of(known, place, incidents), ""
    elif known:
        last = next((at for at, one in enumerate(known) if disruptive(one, incidents)), None)
        note = (
            "" if last is not None else "No known rebalance of this group moved or stopped anything; this is the last."
        )
        newest = next((at for at, one in enumerate(known) if not one.get("repeats")), 0)
        yield rebalance_of(known, newest if last is None else last, incidents), note


def _read(question: Question, key: GroupName, number: int | None) -> tuple[list[Object], list[Object]]:
    """Generations, the newest first, as far back as the question needs, and the incidents of that time."""
    source = question.source
    known: list[Object] = []
    incidents: list[Object] = []
    left = source.generations(key, question.since_ms)
    while several := list(islice(left, LOOKED_AT)):
        known += several
        incidents = source.incidents(key, known[-1]["at_ms"])
        if number is not None and any(one["generation"] == number and not one.get("repeats") for one in several):
            break
        if number is None and question.since_ms is None and any(disruptive(one, incidents) for one in several):
            break
    return known, incidents


def _print(rebalance: Rebalance, note: str, now_ms: int, output: str) -> None:
    generation, sections = rebalance.generation, explanation(rebalance, now_ms)
    if output != "table":
        print_for_programs(_object(generation, sections), output)
        return
    console = Terminal()
    title = f"{generation['group']} ({generation['cluster']}), generation {generation['generation']}"
    console.print(Text(f"{title}, {utc(generation['at_ms'])}", style="bold"), soft_wrap=True)
    if note:
        console.print(Text(note, style="yellow"), soft_wrap=True)
    for section in sections:
        console.print(Text(f"\n{section.title}", style="cyan"))
        for number, sentence in enumerate(section.sentences, start=1):
            mark = f"{number}. " if section.title == "What the assignor did" else "- "
            console.print_point(mark, sentence)
    console.print()


def _object(generation: Mapping[str, Any], sections: list[Chapter]) -> Object:
    return {
        "kind": "explanation",
        **{name: generation[name] for name in ("cluster", "group", "incarnation", "generation", "at_ms", "source")},
        "sections": [{"title": one.title, "sentences": list(one.sentences)} for one in sections],
    }
