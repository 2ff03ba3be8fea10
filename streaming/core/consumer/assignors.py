"""The client-side assignors of consumer groups that are run again, by the name that a group's record gives.

Verdicts and `plan` take them from here. An assignor answers as a release does; releases that answer alike are an era.

    ASSIGNORS["range"].of_release(members, topics, "3.4.1").shares
    ASSIGNORS["sticky"].newest(members, topics).shares
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from rebalance_monitor.assignors.consumer import model as plain_eras
from rebalance_monitor.assignors.consumer import (
    range_assignor,
    round_robin_assignor,
    sticky,
    sticky_cooperative,
    sticky_eras,
)
from rebalance_monitor.assignors.consumer.model import ConsumerEra, ConsumerMember, ConsumerResult, TopicRacks
from rebalance_monitor.assignors.consumer.sticky_eras import StickyEra
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY, STICKY

EraT = TypeVar("EraT")
EraT_contra = TypeVar("EraT_contra", contravariant=True)


class Recompute(Protocol[EraT_contra]):
    """One of Kafka's classes, run again. Raises CannotAssign where Kafka's class fails."""

    def __call__(
        self, members: Sequence[ConsumerMember], topics: TopicRacks, *, era: EraT_contra
    ) -> ConsumerResult: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignor(Generic[EraT]):
    """`eras`: oldest first. `era_of` a release such as "3.4.1" raises NoSuchEra or ValueError."""

    name: str
    eras: tuple[EraT, ...]
    era_of: Callable[[str], EraT]
    recompute: Recompute[EraT]

    def newest(self, members: Sequence[ConsumerMember], topics: TopicRacks) -> ConsumerResult:
        return self.recompute(members, topics, era=self.eras[-1])

    def of_release(self, members: Sequence[ConsumerMember], topics: TopicRacks, release: str) -> ConsumerResult:
        return self.recompute(members, topics, era=self.era_of(release))


PLAIN: Mapping[str, Assignor[ConsumerEra]] = {
    name: Assignor(name=name, eras=plain_eras.ERAS, era_of=plain_eras.era_of, recompute=recompute)
    for name, recompute in (("range", range_assignor.recompute), ("roundrobin", round_robin_assignor.recompute))
}
"""Assignors that look at subscriptions alone."""

KEEPING: Mapping[str, Assignor[StickyEra]] = {
    name: Assignor(name=name, eras=sticky_eras.ERAS, era_of=sticky_eras.sticky_era_of, recompute=recompute)
    for name, recompute in ((STICKY, sticky.recompute), (COOPERATIVE_STICKY, sticky_cooperative.recompute))
}
"""Assignors that look at what members held before."""

ASSIGNORS: Mapping[str, Assignor[Any]] = {**PLAIN, **KEEPING}
