"""What holds after every round of Connect's assignors, whatever happened to the cluster before."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.connect import eager, incremental
from rebalance_monitor.assignors.connect.eras import ERAS, NEWEST, Era
from rebalance_monitor.assignors.connect.incremental import backoff_ms, protocol_version
from rebalance_monitor.assignors.connect.model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
)
from rebalance_monitor.assignors.connect.round import CannotAssign
from tests.profile import size

Cluster = Any
NewCluster = Callable[..., Cluster]
PAIR = ("Aa", "BB")
NAMES = ["a", "b", "Aa", "BB", "é", "😀", "\ue000", "connector-1"]


@dataclass(frozen=True)
class Step:
    """What happens, to the member or connector with this number, how long after the step before, and whether a
    rebalance follows at once. `missed`: that many members never see the assignment."""

    what: str
    number: int
    after_ms: int
    rebalance: bool
    missed: int


steps = st.lists(
    st.builds(
        Step,
        what=st.sampled_from(["join", "crash", "bounce", "return", "configure", "delete", "lead", "nothing"]),
        number=st.integers(0, 7),
        after_ms=st.sampled_from([0, 1, 39, 40, 1000, 1600, 60_000, 300_000]),
        rebalance=st.sampled_from([True, True, True, False]),
        missed=st.sampled_from([0, 0, 0, 0, 1, 2]),
    ),
    min_size=1,
    max_size=25,
)
delays = st.sampled_from([0, 1, 2, 40, 1000, 60_000, 300_000])


def play(cluster: Cluster, script: list[Step], check: Callable[[Cluster, ConnectResult], None]) -> None:
    """Run a script from one member and one connector on; at least one member always stays."""
    cluster.join("w0")
    gone, now, joined, leader = [], 1_000_000, 1, None
    for step in script:
        now += step.after_ms
        ids = list(cluster.members)
        chosen = ids[step.number % len(ids)]
        match step.what:
            case "join":
                cluster.join(f"w{joined}é" if step.number % 2 else f"w{joined}")
                joined += 1
            case "crash" if len(ids) > 1:
                gone.append(cluster.leave(chosen))
            case "bounce" if len(ids) > 1:
                cluster.leave(chosen)
                cluster.join(f"w{joined}")
                joined += 1
            case "return" if gone:
                # A zombie: a new member id, and the jobs it never stopped.
                cluster.join(f"w{joined}", process=gone.pop())
                joined += 1
            case "configure":
                cluster.connectors[NAMES[step.number]] = step.after_ms % 9
            case "delete":
                cluster.connectors.pop(NAMES[step.number], None)
            case "lead":
                leader = chosen
            case _:
                pass
        if step.rebalance:
            ids = list(cluster.members)
            leader = leader if leader in cluster.members else None
            check(cluster, cluster.rebalance(now, leader=leader, missed=ids[: step.missed]))


def union(jobs: Jobs) -> set[Any]:
    return {*jobs.connectors, *jobs.tasks}


def configured(cluster: Cluster) -> set[Any]:
    return {*cluster.connectors, *((name, n) for name, count in cluster.connectors.items() for n in range(count))}


class TestEveryRound:
    @pytest.mark.parametrize("era", [ERAS["A4"], NEWEST], ids=["A4", "A5"])
    @given(script=steps, max_delay_ms=delays)
    def test_keeps_the_laws(self, new_cluster: NewCluster, era: Era, script: list[Step], max_delay_ms: int) -> None:
        cluster = new_cluster({"connector-1": 5}, max_delay_ms=max_delay_ms, era=era)
        play(cluster, script, self.check)

    def check(self, cluster: Cluster, result: ConnectResult) -> None:
        exists = configured(cluster)
        held = {member_id: union(jobs) for member_id, jobs in cluster.active.items()}
        given_ = {member_id: union(share.assigned) for member_id, share in result.shares.items()}
        revoked = {member_id: union(share.revoked) for member_id, share in result.shares.items()}
        active, all_given, all_revoked = (set().union(*sets.values()) for sets in (held, given_, revoked))
        after = {member_id: (held[member_id] - revoked[member_id]) | given_[member_id] for member_id in held}

        assert all(count == 1 for count in Counter(job for jobs in after.values() for job in jobs).values())
        assert all_given <= exists
        assert not all_given & active
        assert not all_given & all_revoked
        self.check_duplicates(held, revoked)
        self.check_unassigned(cluster, result, exists - set().union(*after.values()) - all_revoked)
        self.check_taken_back(cluster, held, revoked)
        self.check_spread(result, exists, after, all_revoked)
        self.check_memory(cluster, result, all_revoked)

    def check_duplicates(self, held: dict[str, set[Any]], revoked: dict[str, set[Any]]) -> None:
        twice = {job for job, count in Counter(job for jobs in held.values() for job in jobs).items() if count > 1}
        assert all(jobs & twice <= revoked[member_id] for member_id, jobs in held.items())

    def check_unassigned(self, cluster: Cluster, result: ConnectResult, waiting: set[Any]) -> None:
        """A configured job without a holder is revoked now, or lost while a delay runs."""
        if cluster.era.places_at_once_without_delay or cluster.max_delay_ms:
            assert not waiting or result.delay_ms > 0
        assert waiting <= union(cluster.before.previous)

    def check_taken_back(self, cluster: Cluster, held: dict[str, set[Any]], revoked: dict[str, set[Any]]) -> None:
        """Only a candidate at the end of a window is asked to stop what it never had."""
        for member_id, jobs in revoked.items():
            if jobs - held[member_id]:
                assert member_id in cluster.before.candidates
                assert cluster.before.scheduled_ms > 0

    def check_spread(
        self, result: ConnectResult, exists: set[Any], after: dict[str, set[Any]], revoked: set[Any]
    ) -> None:
        ghosts = set().union(*after.values()) - exists
        if result.delay_ms or revoked or ghosts or exists - set().union(*after.values()):
            return
        for is_task in (False, True):
            loads = [sum(isinstance(job, tuple) == is_task for job in jobs) for jobs in after.values()]
            assert max(loads) - min(loads) <= 1

    def check_memory(self, cluster: Cluster, result: ConnectResult, revoked: set[Any]) -> None:
        memory: LeaderMemory = cluster.after
        assert 0 <= result.delay_ms == memory.delay_ms <= cluster.max_delay_ms
        if cluster.era.places_at_once_without_delay:
            assert (memory.delay_ms == 0) == (memory.scheduled_ms == 0)
        assert not memory.candidates or memory.scheduled_ms > 0
        assert union(memory.previous_revoked) == revoked
        assert memory.previous_generation == cluster.generation
        assert memory.previous_members == set(cluster.members)


@pytest.mark.parametrize("era", ERAS.values(), ids=lambda era: era.name)
@given(script=steps, max_delay_ms=delays)
@settings(max_examples=size(10, 250))
def test_no_era_starts_what_is_held_or_gone(
    new_cluster: NewCluster, era: Era, script: list[Step], max_delay_ms: int
) -> None:
    def check(cluster: Cluster, result: ConnectResult) -> None:
        given_ = [job for share in result.shares.values() for job in union(share.assigned)]
        assert len(given_) == len(set(given_))
        assert set(given_) <= configured(cluster)
        assert not set(given_) & set().union(*map(union, cluster.active.values()))

    play(new_cluster({"connector-1": 5}, max_delay_ms=max_delay_ms, era=era), script, check)


@given(script=steps)
@settings(max_examples=size(10, 250))
def test_a_quiet_cluster_becomes_balanced_and_stays_so(new_cluster: NewCluster, script: list[Step]) -> None:
    cluster = new_cluster({"connector-1": 5}, max_delay_ms=1000)
    play(cluster, script, lambda *_: None)
    rounds = [cluster.rebalance(10**9 + n * 10**6) for n in range(12)]
    for result in rounds[-2:]:
        assert result.delay_ms == 0
        assert not any(share.assigned or share.revoked for share in result.shares.values())
    loads = [len(jobs.tasks) for jobs in cluster.active.values()]
    assert max(loads) - min(loads) <= 1


@given(
    ids=st.lists(st.sampled_from([f"w{n}" for n in range(20)] + NAMES), min_size=1, unique=True),
    connectors=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9)),
)
def test_the_eager_assignor_deals_everything_evenly(ids: list[str], connectors: dict[str, int]) -> None:
    members = tuple(ConnectMember(id=one, url="u", config_offset=3) for one in ids)
    result = eager.assign(eager_round(members, ConfigSnapshot(3, connectors)))
    shares = [share.assigned for share in result.shares.values()]
    jobs = [job for share in shares for job in (*share.connectors, *share.tasks)]
    assert len(jobs) == len(set(jobs)) == len(connectors) + sum(connectors.values())
    for loads in ([len(s.connectors) for s in shares], [len(s.connectors) + len(s.tasks) for s in shares]):
        assert max(loads) - min(loads) <= 1


def eager_round(
    members: tuple[ConnectMember, ...], config: ConfigSnapshot, fresh: ConfigSnapshot | None = None
) -> ConnectRound:
    return ConnectRound(
        now_ms=0,
        generation=1,
        last_completed_generation=-1,
        protocol="default",
        leader=members[0].id,
        config=config,
        fresh_config=fresh,
        members=members,
    )


@pytest.mark.parametrize(
    ("own", "fresh", "error", "offset"),
    [(5, None, 1, 7), (7, None, 0, 7), (5, 6, 1, 7), (5, 7, 0, 7), (5, 9, 0, 9), (7, 9, 0, 7)],
)
def test_a_leader_behind_its_members_looks_once_more(own: int, fresh: int | None, error: int, offset: int) -> None:
    members = (ConnectMember(id="a", url="u", config_offset=own), ConnectMember(id="b", url="v", config_offset=7))
    newer = None if fresh is None else ConfigSnapshot(fresh, {"c": 1})
    result = eager.assign(eager_round(members, ConfigSnapshot(own, {"c": 1}), newer))
    assert (result.error, result.config_offset, result.delay_ms) == (error, offset, 0)
    assert any(share.assigned for share in result.shares.values()) == (error == 0)


@pytest.mark.parametrize(
    ("max_delay_ms", "first_waits_ms"),
    [
        (300_000, [40, 1600, 64_000, 300_000, 300_000]),
        (180_000, [40, 1600, 64_000, 179_999]),
        (60_000, [40, 1600, 60_000]),
        (600_000, [40, 1600, 64_000, 599_999]),
        (1, [1, 1]),
        (0, [0, 0]),
    ],
)
def test_back_off_grows_forty_fold_up_to_the_maximum(max_delay_ms: int, first_waits_ms: list[int]) -> None:
    assert [backoff_ms(n, max_delay_ms) for n in range(1, len(first_waits_ms) + 1)] == first_waits_ms


def test_protocols_an_era_does_not_speak_are_refused() -> None:
    assert protocol_version("Compatible", ERAS["A0"]) == 1
    assert protocol_version("sessioned", ERAS["A3a"]) == 1
    assert protocol_version("sessioned", ERAS["A3b"]) == 2
    for protocol, era in (("sessioned", "A0"), ("default", "A5"), ("range", "A5")):
        with pytest.raises(CannotAssign, match="unknown"):
            protocol_version(protocol, ERAS[era])


@pytest.mark.parametrize("protocol", ["compatible", "sessioned", "static"])
@given(script=steps, max_delay_ms=delays, number=st.integers(0, 6), crowd=st.booleans())
@settings(max_examples=size(15, 400))
def test_what_an_answer_does_not_rest_on_cannot_change_it(
    new_cluster: NewCluster, protocol: str, script: list[Step], max_delay_ms: int, number: int, crowd: bool
) -> None:
    """The same round with another era, maximum delay or clock, or other rounds completed: equal if it rests on none."""
    home = list(ERAS.values())[number]
    if protocol == "static" and not home.balances_fully:
        home = NEWEST

    def run(
        cluster: Cluster, era: Era, delay_ms: int = max_delay_ms, **changed: int
    ) -> tuple[ConnectResult, LeaderMemory] | None:
        try:
            round_ = replace(cluster.round, **changed)
            return incremental.assign(cluster.before, round_, max_delay_ms=delay_ms, era=era)
        except CannotAssign:
            return None

    def check(cluster: Cluster, result: ConnectResult) -> None:
        told = (result, cluster.after)
        for era in ERAS.values():
            if era.alike(cluster.era, result.rests_on):
                assert run(cluster, era) == told, era.name
        if "max_delay_ms" not in result.rests_on:
            assert run(cluster, cluster.era, delay_ms=0) == run(cluster, cluster.era, delay_ms=10**9) == told
        if "now_ms" not in result.rests_on:
            assert run(cluster, cluster.era, now_ms=1) == run(cluster, cluster.era, now_ms=10**15) == told
        if "last_completed_generation" not in result.rests_on:
            for completed in (-1, cluster.generation - 1):
                assert run(cluster, cluster.era, last_completed_generation=completed) == told

    cluster = new_cluster({"connector-1": 5}, max_delay_ms=max_delay_ms, era=home, protocol=protocol)
    if crowd:
        cluster.join(*(f"{a}{b}{c}{d}" for a in PAIR for b in PAIR for c in PAIR for d in PAIR))
    play(cluster, script, check)
