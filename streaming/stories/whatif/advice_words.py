"""What a setting is called, what its figures mean, what is presumed, and what to change: in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.core.model.messages import counted, listed
from rebalance_monitor.streaming.stories.durations import exact
from rebalance_monitor.streaming.stories.known import Published
from .connect import DEFAULT_PRESUMED
from .connect_history import ConnectSetting
from .connect_past import configured, shown_max_delay_ms
from .consumer import most_with_partitions
from .other_members import TRIED_CHOICES, choices_left_out, last_life, last_with_members, usual_number
from .static_history import StaticAnswer
from .streams_history import StreamsSetting, own_setting

CLASSES = {
    name: f"org.apache.kafka.clients.consumer.{of_java}Assignor"
    for name, of_java in (
        ("range", "Range"), ("roundrobin", "RoundRobin"), ("sticky", "Sticky"),
        ("cooperative-sticky", "CooperativeSticky"),
    )
}  # fmt: skip
EAGER_SETTING = "eager"
"""What connect.protocol calls the protocol that records name `default`."""
STANDBYS = "num.standby.replicas"
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
_OF_STREAMS = {
    "rebalances": "rebalances",
    "moved": "tasks that went to another process",
    "restored": "tasks with state that began in a process without any of it",
    "copied": "copies that processes began",
    "bare_ms": "time without a copy in another process, all tasks with state together",
}
_USUAL_NUMBER = (
    "Counted are those that the group has for most of the time; each stretch of rebalances begins once everything is"
    " given out among those that are there."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingWords:
    """`figures`: those that the setting changes, with their words; `diff`: what to change, a line each. `already`: the
    group has the setting now. `idle`: who would have nothing to do; "" if nobody would."""

    title: str
    figures: Mapping[str, str]
    presumed: str
    diff: Sequence[str]
    already: bool = False
    idle: str = ""


def assignor_words(own: str, name: str, release: str | None) -> SettingWords:
    return SettingWords(
        title=f"{name} of Kafka {release}" if release else name,
        figures=_OF_CONSUMERS,
        presumed="Presumed: equal subscriptions, no racks, and the same members at the same times. How long a rebalance"
        " takes is in no record, so no time is given. From and to are of the courses that were computed: one for each"
        " release that differs, and of cooperative-sticky with and without a second rebalance before the next member"
        " comes or goes.",
        diff=() if own == name else tuple(_restarts(own, name)),
        already=own == name and release is None,
    )


def targets_words(own: str, name: str, release: str | None) -> SettingWords:
    before = (f"-partition.assignment.strategy={CLASSES[own]}",) if own in CLASSES else ()
    return SettingWords(
        title=f"the protocol consumer (KIP-848), {name}" + (f" of Kafka {release}" if release else ""),
        figures=_OF_CONSUMERS,
        presumed="Presumed: equal subscriptions, no racks, and the same members at the same times. From and to are of"
        " the ids that members and topics may have, and of the releases that differ. A member goes on reading what it"
        " keeps. A rebalance is a new target of the group.",
        diff=(
            "consumer configuration of each process:",
            *before,
            "+group.protocol=consumer",
            f"+group.remote.assignor={name}",
        ),
    )


def number_words(
    generations: Sequence[Published], until_ms: int, members: int, assignor: str | None, release: str | None
) -> SettingWords:
    usual = usual_number(last_life(generations), until_ms)
    number = f"{counted(members, 'member')}{_instead(str(usual), str(members))}"
    own = generations[0]["protocol"]
    alone = assignor_words(own, assignor or own, release)
    named = assignor is not None or release is not None
    return SettingWords(
        title=f"{alone.title} and {number}" if named else number,
        figures=_OF_MEMBERS,
        presumed=f"Presumed: equal subscriptions, no racks, and {_who(usual, members, 'members')}. {_USUAL_NUMBER}",
        diff=(
            *alone.diff,
            *_diff("Deployment with one member in each pod, spec:", ": ", _replicas(usual, members)),
        ),
        already=alone.already and members == usual,
        idle=_idle(
            members, most_with_partitions(last_with_members(generations), assignor or own), "members", "partitions"
        ),
    )


def _restarts(own: str, name: str) -> Iterator[str]:
    """A member joins only if it has an assignor that all others have, too: so both are there between two restarts."""
    setting = "partition.assignment.strategy="
    if own in CLASSES:
        yield "consumer configuration, first rolling restart:"
        yield f"+{setting}{CLASSES[name]},{CLASSES[own]}"
        yield "consumer configuration, second rolling restart:"
        yield f"-{setting}{CLASSES[name]},{CLASSES[own]}"
    else:
        yield "consumer configuration:"
    yield f"+{setting}{CLASSES[name]}"


def static_words(found: StaticAnswer, session_ms: int | None, *, of_streams: bool) -> SettingWords:
    least, most = min(found.for_good), max(found.for_good)
    gone = f"{least} to {most}" if most > least else str(most)
    noticed = f", up to {exact(found.session_ms)} after they went" if most else ""
    times = "" if session_ms is None else f" and a session time-out of {exact(session_ms)}"
    usual = session_ms is None or USUAL_SESSIONS_MS[0] <= session_ms <= USUAL_SESSIONS_MS[1]
    return SettingWords(
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
            f"{'StreamsConfig' if of_streams else 'consumer configuration'} of each process:",
            "+group.instance.id=<another one for each process>",
            *([] if session_ms is None else [f"+session.timeout.ms={session_ms}"]),
        ),
    )


def connect_words(generations: Sequence[Published], asked: ConnectSetting, until_ms: int) -> SettingWords:
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
        named.append(f"{counted(asked.workers, 'worker')}{_instead(str(usual), str(asked.workers))}")
        lines += _diff("Strimzi, KafkaConnect, spec:", ": ", _replicas(usual, asked.workers))
        who = _who(usual, asked.workers, "workers")
        beside = f" {_USUAL_NUMBER}"
    return SettingWords(
        title=" and ".join(named),
        figures=_OF_CONNECT if asked.workers is None else _OF_WORKERS,
        presumed=f"Presumed: {who}, and what is configured is what the records show. Rebalances take no time here, only"
        f" delays and absences do; a delay that runs at the end runs to its end.{beside}"
        f"{f' {DEFAULT_PRESUMED}.' if presumes else ''}",
        diff=lines,
        already=not lines and asked.release is None,
        idle="" if asked.workers is None else _idle_workers(generations, asked.workers),
    )


def streams_words(generations: Sequence[Published], asked: StreamsSetting) -> SettingWords:
    own = own_setting(generations)
    settings = [
        (STANDBYS, own.standbys, asked.standbys),
        ("max.warmup.replicas", own.warm_ups, asked.warm_ups),
        ("acceptable.recovery.lag", own.acceptable_lag, asked.acceptable_lag),
    ]
    changed = [(name, old, new) for name, old, new in settings if new is not None and new != old]
    named = [
        f"{name} {new}{'' if old in (None, new) else f' instead of {old}'}"
        for name, old, new in settings
        if new is not None
    ]
    return SettingWords(
        title=listed(named),
        figures=_OF_STREAMS,
        presumed="Presumed: the same threads at the same times, and as many rebalances. Figures are of where tasks are"
        " once threads have given up what goes to others. From and to are of copies that are in no record, which have"
        " caught up by the next rebalance or never do, and of end offsets that nobody knows. Computing begins with the"
        " copies that the setting asks for.",
        diff=tuple(_diff("StreamsConfig of each process:", "=", changed)),
        already=not changed,
    )


def _idle_workers(generations: Sequence[Published], asked: int) -> str:
    counts = configured(last_with_members(generations))
    return _idle(asked, len(counts) + sum(counts.values()), "workers", "connectors and tasks")


def _idle(asked: int, most: int, called: str, held: str) -> str:
    """`most`: so many can have anything at all."""
    if asked <= most:
        return ""
    return f"At least {asked - most} of {asked} {called} would have nothing to do: {held} go to {most} of them at most."


def _who(usual: int, asked: int, called: str) -> str:
    if asked == usual:
        return f"the same {called} come, go and lead at the same times"
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


def _replicas(usual: int, asked: int) -> list[tuple[str, object, object]]:
    return [] if asked == usual else [("replicas", usual, asked)]


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
