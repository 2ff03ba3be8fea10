"""A group's history under another setting, as the command, the API and the page tell it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.known import Published
from .advice_words import (
    SettingWords,
    assignor_words,
    connect_words,
    number_words,
    static_words,
    streams_words,
    targets_words,
)
from .change import CannotPredict
from .connect_history import ConnectSetting, under_setting
from .consumer_targets import CONSUMER_PROTOCOL, USUAL_ASSIGNOR
from .history import HistoryAnswer, least_and_most, under_assignor, under_number, under_targets
from .rolling_told import restart_lines, restarts_object
from .static_history import under_static_members
from .streams_history import StreamsSetting, under_streams_setting

_OF_THE_FIRST = ("moved", "stopped")
_FIRST = "the first rebalance after the change moves {moved} and stops {stopped}"
_OF_THE_CHANGE = (*_OF_THE_FIRST, "least_held", "most_held")
_THE_CHANGE = (
    "the change itself moves {moved} and stops {stopped}; then a {member} has at least {least_held} and at most"
    " {most_held} {held}"
)


@dataclass(frozen=True, slots=True)
class AskedSetting:
    """What is to differ. `session_ms`: of static members. `connect.protocol` may be that of KIP-848, which is of
    consumers, and then `assignor` is one of a broker. `connect.release` is of consumers with either, or with `members`,
    too: how many consumers there are for most of the time. `steps`: the rolling restarts are told, too."""

    assignor: str | None = None
    static: bool = False
    session_ms: int | None = None
    connect: ConnectSetting = field(default_factory=ConnectSetting)
    steps: bool = False
    members: int | None = None
    streams: StreamsSetting = field(default_factory=StreamsSetting)


@dataclass(frozen=True, slots=True)
class AskedHistory:
    """The generations of a group that are looked at, the newest first. `whole`: there are no older ones in the time
    that is asked about. `until_ms`: the moment until which the newest one lasted; `there`: members are in the group
    then."""

    cluster: str
    group: str
    generations: Sequence[Published]
    whole: bool
    until_ms: int
    there: bool


def advice_object(history: AskedHistory, asked: AskedSetting) -> dict[str, Any]:
    """What `advise -o json` prints and the API answers. WrongChange."""
    told: dict[str, Any] = {
        "kind": "advice", "cluster": history.cluster, "group": history.group, "assignor": asked.assignor,
        "static_members": asked.static, "session_timeout_ms": asked.session_ms, "release": asked.connect.release,
        "max_delay_ms": asked.connect.delay_ms, "protocol": asked.connect.protocol, "workers": asked.connect.workers,
        "members": asked.members, "standbys": asked.streams.standbys, "warm_ups": asked.streams.warm_ups,
        "acceptable_lag": asked.streams.acceptable_lag, "answer": None, "why_not": None, "restarts": None,
    }  # fmt: skip
    if asked.steps:
        told["restarts"] = restarts_object(history.generations, asked.assignor, asked.connect, there=history.there)
    try:
        answer, words = _answer(history, asked)
    except CannotPredict as why:
        return {**told, "why_not": str(why)}
    return {**told, "answer": _object(answer, words, history)}


def told_in_lines(advice: Mapping[str, Any]) -> Iterator[str]:
    """The object for people."""
    answer = advice["answer"]
    if answer is None:
        rolling = advice["restarts"] is not None and bool(advice["restarts"]["rolling"])
        of_what = "of past rebalances cannot tell" if rolling else "cannot tell"
        yield f"{advice['group']} ({advice['cluster']}): {of_what}: {advice['why_not']}"
    else:
        yield f"{advice['group']} ({advice['cluster']}) with {answer['title']}:"
        called = ("worker", "tasks") if advice["members"] is None else ("member", "partitions")
        yield from (f"  {line}" for line in _lines(answer, *called))
    if advice["restarts"] is not None:
        yield from (f"  {line}" for line in restart_lines(advice["restarts"]))


def _lines(answer: Mapping[str, Any], member: str, held: str) -> Iterator[str]:
    if answer["idle"]:
        yield str(answer["idle"])
    if answer["already"]:
        yield "the group has this setting already"
    if all(between == [answer["recorded"][figure]] * 2 for figure, between in answer["computed"].items()):
        yield f"nothing would have changed: {'; '.join(_unchanged(answer))}"
    else:
        yield from (instead_of(answer, figure) for figure in answer["recorded"])
    if answer["first"] is not None and not answer["already"]:
        ranges = {figure: _range(figure, *between) for figure, between in answer["first"].items()}
        said = _THE_CHANGE if "most_held" in ranges else _FIRST
        yield f"{said.format(member=member, held=held, **ranges)}, if all {member}s are there"
    for why, count in answer["left_out"].items():
        yield f"left out: {counted(count, 'rebalance')}{', each' if count > 1 else ''} because {why}"
    if not answer["all"]:
        yield f"left out: all before the newest {answer['generations']:,} generations"
    yield str(answer["presumed"])
    yield from answer["diff"]


def _unchanged(answer: Mapping[str, Any]) -> Iterator[str]:
    for figure, amount in answer["recorded"].items():
        yield f"{answer['words'][figure]}: {_amount(figure, amount)}"


def instead_of(answer: Mapping[str, Any], figure: str) -> str:
    """One figure of an answer, in words."""
    after = _range(figure, *answer["computed"][figure])
    return f"{answer['words'][figure]}: {after} instead of {_amount(figure, answer['recorded'][figure])}"


def _answer(history: AskedHistory, asked: AskedSetting) -> tuple[HistoryAnswer, SettingWords]:
    generations = history.generations
    if asked.members is not None:
        numbered = under_number(
            generations, asked.members, history.until_ms, asked.assignor, release=asked.connect.release
        )
        return numbered, number_words(
            generations, history.until_ms, asked.members, asked.assignor, asked.connect.release
        )
    if asked.streams != StreamsSetting():
        of_streams = under_streams_setting(generations, asked.streams, history.until_ms)
        return of_streams, streams_words(generations, asked.streams)
    if asked.connect.protocol == CONSUMER_PROTOCOL:
        name = asked.assignor or USUAL_ASSIGNOR
        targets = under_targets(generations, name, asked.connect.release)
        return targets, targets_words(generations[0]["protocol"], name, asked.connect.release)
    if asked.assignor is not None:
        answer = under_assignor(generations, asked.assignor, asked.connect.release)
        return answer, assignor_words(generations[0]["protocol"], asked.assignor, asked.connect.release)
    if asked.static:
        static = under_static_members(generations, asked.session_ms)
        return static.answer, static_words(static, asked.session_ms, of_streams="streams" in generations[0])
    answer = under_setting(generations, asked.connect, history.until_ms)
    return answer, connect_words(generations, asked.connect, history.until_ms)


def _object(answer: HistoryAnswer, words: SettingWords, history: AskedHistory) -> dict[str, Any]:
    first = answer.first if history.there else ()
    of_first = _OF_THE_CHANGE if "most_held" in words.figures else _OF_THE_FIRST
    return {
        "title": words.title,
        "words": dict(words.figures),
        "recorded": {figure: getattr(answer.recorded, figure) for figure in words.figures},
        "computed": {figure: list(answer.range_of(figure)) for figure in words.figures},
        "left_out": dict(answer.left_out),
        "first": {one: list(least_and_most(first, one)) for one in of_first} if first else None,
        "presumed": words.presumed,
        "diff": list(words.diff),
        "already": words.already,
        "idle": words.idle,
        "all": history.whole,
        "generations": len(history.generations),
    }


def _range(figure: str, least: int, most: int) -> str:
    return _amount(figure, least) + (f" to {_amount(figure, most)}" if most > least else "")


def _amount(figure: str, amount: int) -> str:
    """Times in seconds, so that two of them compare."""
    return f"{amount / 1000:,.0f} s" if figure.endswith("_ms") else str(amount)
