"""Who waits for whom: by the plain definition, and without comparing each member with every other one."""

import sys
from types import FrameType

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.schemas.group_values import Current, MemberState, Partitions
from rebalance_monitor.schemas.streams_values import StreamsCurrent, StreamsMember, StreamsTarget, SubtopologyTasks
from rebalance_monitor.streaming.core.targets import units
from rebalance_monitor.streaming.core.targets.group import TargetGroup, waiting_for
from rebalance_monitor.streaming.core.targets.member import TargetMember
from rebalance_monitor.streaming.core.targets.units import Units
from tests.streaming.core.targets.test_epochs_laws import current, group, of

Numbers = frozenset[int]
NUMBERS = st.frozensets(st.integers(0, 3))


def metadata(process: str) -> StreamsMember:
    return StreamsMember(
        instance_id=None, rack=None, client_id="c", client_host="/h", rebalance_timeout_ms=8_000, topology_epoch=0,
        process_id=process, endpoint=None, client_tags=(),
    )  # fmt: skip


def tasks(numbers: Numbers) -> tuple[SubtopologyTasks, ...]:
    return (SubtopologyTasks("0", tuple(sorted(numbers))),) if numbers else ()


@st.composite
def members(draw: st.DrawFn) -> TargetMember:
    """Any member of a Streams group, sound or not."""
    active, standby, warmup, going, copies_going, warmups_going, *wanted = (tasks(draw(NUMBERS)) for _ in range(9))
    state = draw(st.sampled_from([MemberState.UNRELEASED, MemberState.UNRELEASED, MemberState.STABLE]))
    process = draw(st.sampled_from(["p", "q", None]))
    return TargetMember(
        metadata=None if process is None else metadata(process),
        current=StreamsCurrent(
            epoch=draw(st.sampled_from([-2, 5])),
            previous_epoch=4,
            state=state,
            active=active,
            standby=standby,
            warmup=warmup,
            active_pending_revocation=going,
            standby_pending_revocation=copies_going,
            warmup_pending_revocation=warmups_going,
        ),
        target=StreamsTarget(active=wanted[0], standby=wanted[1], warmup=wanted[2]),
    )


def plainly(group: TargetGroup) -> dict[str, dict[str, Units]]:
    """Each member that waits beside every other one."""
    found: dict[str, dict[str, Units]] = {}
    for name, member in group.members.items():
        if member.away or member.state is not MemberState.UNRELEASED:
            continue
        missing = member.wanted() - member.assigned()
        chain: dict[str, Units] = {}
        for other, view in group.members.items():
            together = member.process is not None and member.process == view.process
            copies = {one[1:] for one in units.tasks_in(view.held())} if together else set()
            kept = (missing & units.alone(view.held())) | {one for one in missing if one[1:] in copies}
            if kept and other != name:
                chain[other] = frozenset(kept)
        free = missing.difference(*chain.values())
        found[name] = chain | ({"": free} if free else {})
    return found


@given(st.lists(members(), min_size=1, max_size=5))
def test_chains_are_those_of_the_plain_definition(some: list[TargetMember]) -> None:
    told = TargetGroup(epoch=5, members={f"m{at}": one for at, one in enumerate(some)})
    assert waiting_for(told) == plainly(told)


def calls(size: int) -> int:
    """Python functions that are called for a group in which every second member waits for the one before it."""
    some: dict[str, tuple[Partitions, Current]] = {}
    for at in range(size):
        some[f"a{at}"] = (of(2 * at), current(4, of(2 * at), MemberState.UNREVOKED, of(2 * at + 1)))
        some[f"b{at}"] = (of(2 * at + 1), current(5, (), MemberState.UNRELEASED))
    told, counted = group(epoch=5, assigned=5, at_ms=1_000, **some), 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal counted
        counted += event == "call"

    sys.setprofile(count)
    try:
        chains = waiting_for(told)
    finally:
        sys.setprofile(None)
    assert all(list(chain) == [f"a{name[1:]}"] for name, chain in chains.items())
    return counted


def test_the_work_grows_with_the_members_and_not_with_their_pairs() -> None:
    assert calls(80) < 2.5 * calls(40)
