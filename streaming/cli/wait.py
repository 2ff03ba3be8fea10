"""`wait`: for pipelines. Ends once every group that is named has come to rest and has stayed so.

A group that has not begun to rebalance yet looks as calm as one that has finished. So a generation counts as the last
one only after it was watched for the whole of `--stable`, whatever its time.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console

from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.known import GroupFacts
from rebalance_monitor.streaming.stories.settled import Demand, StillDue, waits_for
from rebalance_monitor.streaming.web.rows import NOBODY, GroupName
from .exit_codes import DONE, NOT_YET, InputError
from .group_questions import Question, question_of
from .group_sources import OF_ALL
from .moments import duration_ms
from .monitor_api import NotThere, Unreachable
from .outline import visible
from .output import print_for_programs

EVERY_S = 2.0
Object = dict[str, Any]


@dataclass(slots=True)
class LastSeen:
    """The generation of a group that was seen last, since when, by a clock that is never set."""

    generation: tuple[Any, ...] | None = None
    since_s: float = 0.0


@dataclass(slots=True)
class Watch:
    """Looks again and again; `clock` counts seconds and is never set back, `sleep` lets them pass."""

    question: Question
    demand: Demand
    stable_ms: int
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    seen: dict[GroupName, LastSeen] = field(default_factory=dict)

    def look(self) -> dict[str, list[StillDue]]:
        """What each group still waits for; empty where all are at rest. One of a name that several clusters have is
        called `cluster/group`."""
        source = self.question.source
        readiness = source.readiness()
        found: dict[str, list[StillDue]] = {}
        names = self._names()
        if not names:
            return {_nobody(self.question): [StillDue("no group is known")]}
        here = {cluster for cluster, _ in names}
        for name, why in self.question.not_read(readiness, here).items():
            if name and name not in here:
                found[f"the {name}" if name in OF_ALL else f"cluster {name}"] = [
                    StillDue(f"the monitor has not caught up: {why}")
                ]
        often = Counter(group for _, group in names)
        for key in names:
            name = key[1] if often[key[1]] == 1 else "/".join(key)
            why = readiness.of(key[0])
            waits = [StillDue(f"the monitor has not caught up: {why}")] if why else []
            try:
                known = source.known(key, 1)
            except NotThere:
                found[name] = [*waits, StillDue("no generation of the group is known")]
                continue
            if not self.question.groups and left_alone(known):
                continue
            jobs = source.jobs(key) if known.group["protocol_type"] == "connect" else []
            waits += [*waits_for(known, jobs, self.demand), *self._stable(key, known)]
            if waits:
                found[name] = waits
        return found

    def _names(self) -> list[GroupName]:
        """The groups; one that is not known yet is waited for."""
        known, asked = self.question.source.names(), self.question
        if not asked.groups:
            return [key for key in known if asked.sees(key)]
        names: list[GroupName] = []
        for group in dict.fromkeys(asked.groups):
            own = [key for key in known if key[1] == group and asked.cluster in (None, key[0])]
            if len(own) > 1:
                raise InputError(f"several clusters have a group {group}; say --cluster")
            names += own or [(asked.cluster or "", group)]
        return names

    def _stable(self, key: GroupName, known: GroupFacts) -> list[StillDue]:
        group = known.group
        generation = (group["incarnation"], group["generation"], group["at_ms"])
        watched, now_s = self.seen.setdefault(key, LastSeen()), self.clock()
        if watched.generation != generation:
            watched.generation, watched.since_s = generation, now_s
        left_ms = self.stable_ms - round((now_s - watched.since_s) * 1000)
        if left_ms <= 0:
            return []
        return [StillDue(f"generation {group['generation']} has yet to last", known.now_ms + left_ms)]

    def until(self, timeout_ms: int | None, tell: Callable[[str], None]) -> dict[str, list[StillDue]]:
        """Looks until nothing is waited for, or the time is over; what is waited for then."""
        end_s = None if timeout_ms is None else self.clock() + timeout_ms / 1000
        while True:
            try:
                found = self.look()
            except Unreachable as why:
                found = {group: [StillDue(str(why))] for group in self.question.groups or ("the monitor",)}
                self.seen.clear()
            left_s = EVERY_S if end_s is None else end_s - self.clock()
            if not found or left_s <= 0:
                return found
            tell(_sentence(found))
            self.sleep(min(EVERY_S, left_s, max(0.1, self.stable_ms / 1000)))


def wait(arguments: argparse.Namespace) -> int:
    """DONE once it is so; NOT_YET when the time is over, with one sentence."""
    if not arguments.group and not arguments.all_groups:
        raise InputError("say which groups are waited for: --group ID, or --all-groups")
    if arguments.at is not None and arguments.capture is None:
        raise InputError("--at is for a capture; a running monitor is asked about now")
    stable_ms = duration_ms(arguments.stable, "--stable")
    timeout_ms = None if arguments.timeout is None else duration_ms(arguments.timeout, "--timeout")
    if timeout_ms is not None and timeout_ms < stable_ms:
        raise InputError(
            f"--timeout is shorter than --stable ({arguments.stable}), so no group can be found at rest in that time; "
            "make it longer, or --stable shorter"
        )
    question = question_of(arguments)
    if arguments.caught_up is not None and arguments.caught_up < 0:
        raise InputError(f"--caught-up {arguments.caught_up} is below 0; write a number of records")
    demand = Demand(arguments.streams_warm, arguments.caught_up)
    if arguments.capture is not None:
        found = captured(question, demand, stable_ms)
    else:
        with _Telling() as telling:
            found = Watch(question, demand, stable_ms).until(timeout_ms, telling.tell)
    return _end(found, question, arguments)


def captured(question: Question, demand: Demand, stable_ms: int) -> dict[str, list[StillDue]]:
    """What is waited for where a capture ends: nothing comes after it, so its own times count."""
    found: dict[str, list[StillDue]] = {}
    names = question.names()
    if not names:
        return {_nobody(question): [StillDue("no group is known")]}
    for key in names:
        known = question.source.known(key)
        if not question.groups and left_alone(known):
            continue
        waits = list(waits_for(known, question.source.jobs(key), demand))
        at_ms = known.group["at_ms"]
        if at_ms is not None and at_ms + stable_ms > known.now_ms:
            waits.append(StillDue(f"generation {known.group['generation']} has yet to last", at_ms + stable_ms))
        if waits:
            found[key[1]] = waits
    return found


def left_alone(known: GroupFacts) -> bool:
    """Whether nobody is in the group and nothing waits for anybody: as consumers leave it that were run once."""
    return known.group["status"] in NOBODY and not known.group["unassigned"]


def _nobody(question: Question) -> str:
    return "the monitor" if question.cluster is None else f"cluster {question.cluster}"


def _end(found: dict[str, list[StillDue]], question: Question, arguments: argparse.Namespace) -> int:
    if arguments.output != "table":
        print_for_programs(_object(found), arguments.output)
    elif not found:
        print(f"at rest for {arguments.stable}: {visible(', '.join(question.groups)) or 'every group'}")
    if not found:
        return DONE
    if arguments.output == "table":
        over = f" after {arguments.timeout}" if arguments.timeout and arguments.capture is None else ""
        print(f"rebalance-monitor: not at rest{over}: {_sentence(found)}", file=sys.stderr)
    return NOT_YET


def _sentence(found: dict[str, list[StillDue]]) -> str:
    """One sentence about the first group, and how many there are."""
    group, waits = next(iter(found.items()))
    more = f" (and {counted(len(found) - 1, 'more group')})" if len(found) > 1 else ""
    return f"{group} waits: {'; '.join(one.sentence for one in waits)}{more}"


def _object(found: dict[str, list[StillDue]]) -> Object:
    waits = [
        {"group": group, "waits_for": [{"text": one.text, "until_ms": one.until_ms} for one in several]}
        for group, several in found.items()
    ]
    return {"kind": "wait", "at_rest": not found, "groups": waits}


class _Telling:
    """Progress on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        self._status = console.status("looking") if console.is_terminal else None

    def __enter__(self) -> "_Telling":
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def tell(self, sentence: str) -> None:
        if self._status is not None:
            from rich.markup import escape

            self._status.update(escape(sentence))
