"""What a group's fold remembers between batches: an envelope that every group has, one body per lifecycle, and the
records that wait.

Envelope and bodies are stored as lines of text: the envelope, then each body behind the name of its lifecycle. A body
is read by its lifecycle alone. Each waiting record is stored by itself (`streaming.core.fold.waiting`).

    {"incarnation":1,"generation":7,…}
    connect {"history":{…},"processes":{…},…}
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rebalance_monitor.streaming.core.cluster.held_up import OpenRebalance
from rebalance_monitor.streaming.core.incidents.book import Pages
from rebalance_monitor.streaming.core.model.codec import CodecError, dumps, loads
from rebalance_monitor.streaming.core.model.results import Incident, Source
from .returns import Returners
from .rounds import Round

STATE_VERSION = 1
NOTHING: Mapping[int, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Queue:
    """What is known of all waiting records: their positions [`first`, `end`), up to which position they were published
    as pending (`announced`), the highest generation among them, the time of the last (ms), and position and time of
    each that is earlier than the one in front of it (`falls`)."""

    first: int = 0
    end: int = 0
    announced: int = 0
    generation: int = -1
    last_ms: int = 0
    falls: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Failing:
    """The fold of the group failed: when last, how often, with which errors, and generations folded since."""

    at_ms: int
    fingerprints: tuple[str, ...]
    times: int = 1
    folded: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Restless:
    """How restless a group is (`restless`). `life`: the life of the group id that this is about; `at_ms`: the time of
    its newest generation; `rounds`: the last ones, and `returners`: who came lately; `there`: member ids of its newest
    target, None where its generations are records, of which the envelope knows them."""

    life: int = -1
    at_ms: int = 0
    rounds: tuple[Round, ...] = ()
    returners: Returners = field(default_factory=dict)
    there: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What is kept of every group, whatever its kind. Only what a later record or timer can ask for is kept.

    `lifecycle`: the one of the group's newest record, None before the first. `incarnation` counts the lives of the
    group id, `generation` is the newest of this one. `home`: the partition of the group's records, `topic-number`.
    `behind_ms`: how far the coordinator's clock is behind the monitor's, if that is known, `least_behind_ms` the least
    of it since the clocks changed (`clocks`); `unread`: the last record of the group that could not be read; `lost`:
    offsets (from, to; the end exclusive) in the group's partition that were gone before they were read, the newest;
    `longest_rebalance_ms`: how long a rebalance may take by the newest record's members, None without any; `written`:
    generation and end of the join phase (ms) of the newest records (`group_life`); `orphans`: incidents of a
    state that could not be read, to be ended; `failing`: while `monitor_error` is open (`isolation`); `polled`: a name
    of what was polled last (`sampling`), None where the group's records are read. `restless`: who came lately, and how
    often it rebalanced. `recurrences`: when (ms) rules that find what is soon over were last
    broken, by code (`recurring`). `open_rebalance`: the last rebalance, until it is known what it held up (`held_up`).
    `members`: how many the newest record or target shows; `rebalanced_ms`: when the newest generations were completed,
    `more_lag_ms`: when samples began to show more lag than expected, and the last that did, by the monitor's clock
    (`expected`; both only where something is expected).
    """

    lifecycle: str | None = None
    incarnation: int = 0
    generation: int | None = None
    deleted: bool = False
    seen_from_start: bool = False
    book: Pages = field(default_factory=Pages)
    member_ids: frozenset[str] = frozenset()
    next_offsets: Mapping[str, int] = field(default_factory=dict)
    topic_ids: Mapping[str, str] = field(default_factory=dict)
    queue: Queue = Queue()
    home: str | None = None
    historic: bool = False
    behind_ms: int | None = None
    least_behind_ms: int | None = None
    unread: Source | None = None
    lost: tuple[tuple[int, int], ...] = ()
    orphans: tuple[Incident, ...] = ()
    written: tuple[tuple[int, int], ...] = ()
    failing: Failing | None = None
    longest_rebalance_ms: int | None = None
    polled: str | None = None
    restless: Restless = Restless()
    recurrences: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    open_rebalance: OpenRebalance | None = None
    members: int | None = None
    rebalanced_ms: tuple[int, ...] = ()
    more_lag_ms: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """A group's state as it is stored: the lines of envelope and bodies, and rows of waiting records by position, all
    of them or the first ones."""

    lines: bytes
    waiting: Mapping[int, bytes] = field(default_factory=dict)


def stored(envelope: Envelope, bodies: Mapping[str, str], waiting: Mapping[int, bytes] = NOTHING) -> Saved:
    """The state as it is stored; `bodies` are texts without a line break, by lifecycle."""
    lines = [dumps(envelope), *(f"{name} {text}" for name, text in sorted(bodies.items()))]
    return Saved("\n".join(lines).encode("utf-8", "surrogatepass"), waiting)


def read(state: Saved | None) -> tuple[Envelope, dict[str, str]]:
    """The envelope of a stored state, and its bodies as texts. Raises CodecError."""
    if state is None:
        return Envelope(), {}
    try:
        first, *others = state.lines.decode("utf-8", "surrogatepass").split("\n")
    except UnicodeDecodeError as why:
        raise CodecError("a stored state is no text") from why
    bodies = dict(line.split(" ", 1) for line in others)
    return loads(Envelope, first), bodies
