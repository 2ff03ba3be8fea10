"""A group's history under another setting, as the command, the API and the page tell it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.durations import exact
from rebalance_monitor.streaming.stories.known import Published
from .change import CannotPredict
from .connect import DEFAULT_PRESUMED
from .connect_history import ConnectSetting, under_setting
from .connect_past import shown_max_delay_ms
from .history import HistoryAnswer, least_and_most, under_assignor, under_number
from .other_members import TRIED_CHOICES, choices_left_out, last_life, usual_number
from .rolling_told import restarts_object, told_restarts
from .static_history import StaticAnswer, under_static_members

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
_OF_CONSUMERS = {
    "rebalances": "rebalances",
    "moved": "partitions that members gained",
    "stopped": "partitions taken from members that stayed",
}
_OF_MEMBERS = {**_OF_CONSUMERS, "most_held": "most partitions of one member"}
_OF_CONNECT = {
    "rebalances": "rebalances",
    "moved": "connectors and tasks that workers gained",
    "stopped": "connectors and tasks that workers that stayed had to stop",
    "imbalanced": "rebalances that left workers with tasks that differ by more than one",
    "idle_ms": "time without a worker, all connectors and tasks together",
}
_OF_WORKERS = {**_OF_CONNECT, "most_held": "most tasks of one worker while nobody waited"}
_OF_THE_FIRST = ("moved", "stopped")
_FIRST = "the first rebalance after the change moves {moved} and stops {stopped}"
_OF_THE_CHANGE = (*_OF_THE_FIRST, "least_held", "most_held")
_THE_CHANGE = (
    "the change itself moves {moved} and stops {stopped}; then a {member} has at least {least_held} and at most"
    " {most_held} {held}"
)
_USUAL_NUMBER = (
    "Counted are those that the group has for most of the time; each stretch of rebalances begins once everything is"
    " given out among those that are there."
)


@dataclass(frozen=True, slots=True)
class AskedSetting:
    """What is to differ. `session_ms`: of static members; `connect.release` is of consumers with an assignor or with
    `members`, too: how many consumers there are for most of the time. `steps`: the rolling restarts are told, too."""

    assignor: str | None = None
    static: bool = False
    session_ms: int | None = None
    connect: ConnectSetting = field(default_factory=ConnectSetting)
    steps: bool = False
    members: int | None = None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """`figures`: those that the setting changes, with their words; `diff`: what to change, a line each."""

    title: str
    figures: Mapping[str, str]
    presumed: str
    diff: Sequence[str]


def advice_object(history: AskedHistory, asked: AskedSetting) -> dict[str, Any]:
    """What `advise -o json` prints and the API answers. WrongChange."""
    told: dict[str, Any] = {
        "kind": "advice", "cluster": history.cluster, "group": history.group, "assignor": asked.assignor,
        "static_members": asked.static, "session_timeout_ms": asked.session_ms, "release": asked.connect.release,
        "max_delay_ms": asked.connect.delay_ms, "protocol": asked.connect.protocol, "workers": asked.connect.workers,
        "members": asked.members, "answer": None, "why_not": None, "restarts": None,
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
        yield f"{advice['group']} ({advice['cluster']}): cannot tell: {advice['why_not']}"
    else:
        yield f"{advice['group']} ({advice['cluster']}) with {answer['title']}:"
        called = ("worker", "tasks") if advice["members"] is None else ("member", "partitions")
        yield from (f"  {line}" for line in _lines(answer, *called))
    if advice["restarts"] is not None:
        yield from (f"  {line}" for line in told_restarts(advice["restarts"]))


def _lines(answer: Mapping[str, Any], member: str, held: str) -> Iterator[str]:
    for figure in answer["recorded"]:
        yield instead_of(answer, figure)
    if answer["first"] is not None:
        ranges = {figure: _range(figure, *between) for figure, between in answer["first"].items()}
        said = _THE_CHANGE if "most_held" in ranges else _FIRST
        yield f"{said.format(member=member, held=held, **ranges)}, if all {member}s are there"
    for why, count in answer["left_out"].items():
        yield f"left out: {counted(count, 'rebalance')}: {why}"
    if not answer["all"]:
        yield f"left out: all before the newest {answer['generations']:,} generations"
    yield str(answer["presumed"])
    yield from answer["diff"]


def instead_of(answer: Mapping[str, Any], figure: str) -> str:
    """One figure of an answer, in words."""
    after = _range(figure, *answer["computed"][figure])
    return f"{answer['words'][figure]}: {after} instead of {_amount(figure, answer['recorded'][figure])}"


def _answer(history: AskedHistory, asked: AskedSetting) -> tuple[HistoryAnswer, _Words]:
    generations = history.generations
    if asked.members is not None:
        numbered = under_number(
            generations, asked.members, history.until_ms, asked.assignor, release=asked.connect.release
        )
        return numbered, _number(history, asked, asked.members)
    if asked.assignor is not None:
        answer = under_assignor(generations, asked.assignor, asked.connect.release)
        return answer, _assignor(generations[0]["protocol"], asked.assignor, asked.connect.release)
    if asked.static:
        static = under_static_members(generations, asked.session_ms)
        return static.answer, _static(static, asked.session_ms, of_streams="streams" in generations[0])
    answer = under_setting(generations, asked.connect, history.until_ms)
    return answer, _connect(generations, asked.connect, history.until_ms)


def _assignor(own: str, name: str, release: str | None) -> _Words:
    return _Words(
        title=f"{name} of Kafka {release}" if release else name,
        figures=_OF_CONSUMERS,
        presumed="Presumed: equal subscriptions, no racks, and the same members at the same times. How long a rebalance"
        " takes is in no record, so no time is given. From and to are of the courses that were computed: one for each"
        " release that differs, and of cooperative-sticky with and without a second rebalance before the next member"
        " comes or goes.",
        diff=() if own == name else tuple(_restarts(own, name)),
    )


def _number(history: AskedHistory, asked: AskedSetting, members: int) -> _Words:
    usual = usual_number(last_life(history.generations), history.until_ms)
    number = f"{counted(members, 'member')} instead of {usual}"
    own = history.generations[0]["protocol"]
    alone = _assignor(own, asked.assignor or own, asked.connect.release)
    named = asked.assignor is not None or asked.connect.release is not None
    return _Words(
        title=f"{alone.title} and {number}" if named else number,
        figures=_OF_MEMBERS,
        presumed=f"Presumed: equal subscriptions, no racks, and {_who(usual, members, 'members')}. {_USUAL_NUMBER}",
        diff=(
            *alone.diff,
            *_diff("Deployment with one member in each pod, spec:", ": ", [("replicas", usual, members)]),
        ),
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


def _static(found: StaticAnswer, session_ms: int | None, *, of_streams: bool) -> _Words:
    least, most = min(found.for_good), max(found.for_good)
    gone = f"{least} to {most}" if most > least else str(most)
    noticed = f", up to {exact(found.session_ms)} after they went" if most else ""
    times = "" if session_ms is None else f" and a session time-out of {exact(session_ms)}"
    usual = session_ms is None or USUAL_SESSIONS_MS[0] <= session_ms <= USUAL_SESSIONS_MS[1]
    return _Words(
        title=f"static members{times}",
        figures={
            "rebalances": "rebalances",
            "moved": "tasks and copies that threads gained" if of_streams else _OF_CONSUMERS["moved"],
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


def _connect(generations: Sequence[Published], asked: ConnectSetting, until_ms: int) -> _Words:
    shown_ms, protocol = shown_max_delay_ms(generations), generations[0]["protocol"]
    waits = protocol != EAGER or asked.protocol is not None
    presumes = shown_ms is None and asked.delay_ms is None and waits
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
        *_diff("worker properties:", "=", changed),
        *_diff("Strimzi, KafkaConnect, spec.config:", ": ", changed),
    ]
    who = "the same workers come, go and lead at the same times"
    beside = ""
    if asked.workers is not None:
        usual = usual_number(last_life(generations), until_ms)
        named.append(f"{counted(asked.workers, 'worker')} instead of {usual}")
        lines += _diff("Strimzi, KafkaConnect, spec:", ": ", [("replicas", usual, asked.workers)])
        who = _who(usual, asked.workers, "workers")
        beside = f" {_USUAL_NUMBER}"
    return _Words(
        title=" and ".join(named),
        figures=_OF_CONNECT if asked.workers is None else _OF_WORKERS,
        presumed=f"Presumed: {who}, and what is configured is what the records show. Rebalances take no time here, only"
        f" delays and absences do; a delay that runs at the end runs to its end.{beside}"
        f"{f' {DEFAULT_PRESUMED}.' if presumes else ''}",
        diff=lines,
    )


def _who(usual: int, asked: int, called: str) -> str:
    if asked > usual:
        return (
            f"the recorded {called} come, go and lead at the same times, and the others are there all the time;"
            " from and to are of the ids that Kafka may give them"
        )
    left_out = choices_left_out(usual, asked)
    which = f"{TRIED_CHOICES} of the choices" if left_out else "each choice"
    return (
        f"{usual - asked} of the recorded {called} {'is' if usual - asked == 1 else 'are'} never there, the others"
        f" come, go and lead at the same times; from and to are of {which} of who is not there"
    )


def _diff(title: str, sign: str, changed: Sequence[tuple[str, object, object]]) -> Iterator[str]:
    """`changed`: name, value before (None: not known) and after."""
    if changed:
        yield title
    for name, old, new in changed:
        if old is not None:
            yield f"-{name}{sign}{old}"
        yield f"+{name}{sign}{new}"


def _instead(old: str | None, new: str) -> str:
    return "" if old in (None, new) else f" instead of {old}"


def _object(answer: HistoryAnswer, words: _Words, history: AskedHistory) -> dict[str, Any]:
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
        "all": history.whole,
        "generations": len(history.generations),
    }


def _range(figure: str, least: int, most: int) -> str:
    return _amount(figure, least) + (f" to {_amount(figure, most)}" if most > least else "")


def _amount(figure: str, amount: int) -> str:
    """Times in seconds, so that two of them compare."""
    return f"{amount / 1000:,.0f} s" if figure.endswith("_ms") else str(amount)
