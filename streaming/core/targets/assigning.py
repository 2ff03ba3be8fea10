"""How the broker's assignors of partitions are chosen: by consumers, and for share groups.

Which assignor a group of consumers uses, its members say. Share groups have one (`simple`); brokers before 4.1 write no
hash of the topics, and those since 4.3 write when a target was computed: that leaves few releases.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product

from rebalance_monitor.assignors.broker import range_assignor, simple, uniform
from rebalance_monitor.assignors.broker.model import JAVA, JAVAS, NEWEST, Outcome, Release, javas_of
from rebalance_monitor.schemas.group_values import ConsumerMember
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from .expected import Assign, assignor_input
from .group import TargetGroup
from .operation import Computed
from .reasons import other_release
from .topics import KnownTopics, Topics
from .verdict import Assigning, Assumption

DEFAULT_ASSIGNOR = "uniform"
_ASSIGNORS: Mapping[str, Callable[..., Outcome]] = {"uniform": uniform.assign, "range": range_assignor.assign}
ERAS: dict[str, tuple[tuple[str, Release], ...]] = {
    "uniform": ((">=4.0", NEWEST), ("3.8-3.9", (3, 9)), ("3.7", (3, 7))),
    "range": ((">=3.9", NEWEST), ("3.7-3.8", (3, 8))),
}
"""By assignor, the ranges of releases that compute alike, newest first, and one release of each."""
SIMPLE = "simple"
BALANCED, SPARING, EVERYTHING = (">=4.2", NEWEST), ("4.1", (4, 1)), ("3.9-4.0", (4, 0))
"""The same of `simple`."""

CONVERTED = Reason(
    ReasonKind.CONVERSION, "members of the classic protocol brought it: no assignor of the broker computed it"
)
OTHER_DEFAULT = Reason(ReasonKind.UNKNOWN_DEFAULT, "the broker's default assignor may be another one")
EVEN = Reason(ReasonKind.EQUAL_CHOICE, "as many members prefer another assignor")


def preferred(group: TargetGroup) -> tuple[str, ...]:
    """The assignor that most members prefer, several where these are even; the broker's default where nobody names
    one."""
    named = Counter(_named(group))
    most = max(named.values(), default=0)
    return tuple(sorted(name for name, count in named.items() if count == most)) or (DEFAULT_ASSIGNOR,)


def converted(computed: Computed) -> bool:
    """Whether a conversion from the classic protocol brought the target, so that no assignor of the broker computed it:
    it brings members of the classic protocol alone, and the first target."""
    members = computed.after.members.values()
    return computed.before.assignment_epoch is None and all(one.classic is not None for one in members)


def run_of(assignor: str, release: Release, java_version: int = JAVA) -> Assign:
    """An assignor of consumer groups."""
    return partial(_ASSIGNORS[assignor], release=release, java_version=java_version)


def _named(group: TargetGroup) -> list[str]:
    known = (member.metadata for member in group.members.values())
    named = (one.server_assignor for one in known if isinstance(one, ConsumerMember))
    return [name for name in named if name is not None]


def _unknown(group: TargetGroup) -> Reason | None:
    named = preferred(group)
    if any(one in ERAS for one in named):
        return None
    return Reason(ReasonKind.ASSIGNOR_UNKNOWN, f"assignor {', '.join(named)} is not recomputed by this version")


def _of_consumers(computed: Computed, views: Sequence[KnownTopics]) -> list[Assumption]:
    """The newest release with every view, then others with each."""

    def javas(topics: Topics) -> tuple[int, ...]:
        group = assignor_input(computed, topics)
        return (JAVA,) if group is None else javas_of(group)

    return [
        Assumption(assignor=name, era=era, assign=run_of(name, release, java), topics=view.topics, why=why or view.why)
        for name, era, release, why in _releases(computed.after)
        for view in views
        for java in javas(view.topics)
    ]


def _releases(group: TargetGroup) -> Iterator[tuple[str, str, Release, Reason | None]]:
    """Assignors of consumers in ranges of releases; what is assumed by each."""
    named = [one for one in preferred(group) if one in ERAS]
    for name in named:
        for at, (era, release) in enumerate(ERAS[name]):
            if at == 0:
                yield name, era, release, None if len(named) == 1 else EVEN
            elif group.metadata_hash is None:
                yield name, era, release, other_release(name, era)
    if not _named(group):
        for name in (one for one in ERAS if one not in named):
            yield name, *ERAS[name][0], OTHER_DEFAULT


def eras_of(group: TargetGroup) -> tuple[tuple[str, Release], ...]:
    """The releases that may have computed the newest target of a share group, the newest first."""
    if group.dated:
        return (BALANCED,)
    return (EVERYTHING,) if group.metadata_hash is None else (BALANCED, SPARING)


def _of_shares(computed: Computed, views: Sequence[KnownTopics]) -> list[Assumption]:
    """Every view in the newest release, then in the one before."""
    assignable, eras = computed.after.initialized(), eras_of(computed.after)

    def runs(java_version: int) -> list[tuple[str, Assign]]:
        of_each = partial(simple.assign, java_version=java_version, assignable=assignable)
        return [(era, partial(of_each, release=release)) for era, release in eras]

    by_java = {java_version: runs(java_version) for java_version in JAVAS}
    return [
        Assumption(
            assignor=SIMPLE,
            era=eras[at][0],
            assign=by_java[java_version][at][1],
            topics=view.topics,
            why=view.why if at == 0 else other_release(SIMPLE, eras[at][0]),
            others=tuple(by_java[java_version][at + 1 :]),
        )
        for view, at, java_version in product(views, range(len(eras)), JAVAS)
    ]


def _one_preferred(group: TargetGroup) -> str | None:
    named = preferred(group)
    return named[0] if len(named) == 1 else None


CONSUMERS = Assigning(_one_preferred, _of_consumers, unknown=_unknown)
SHARES = Assigning(lambda group: SIMPLE, _of_shares, shared=True)
