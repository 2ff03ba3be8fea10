"""Protocol `static`: declared jobs run where they are declared, everything else as without declarations."""

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.assignors.connect.model import ConnectResult, Jobs
from rebalance_monitor.streaming.core.connect.member_bytes import encode_share
from tests.profile import size

Cluster = Any
NewCluster = Callable[..., Cluster]

CONNECTORS = {"a": 3, "b": 4, "é": 2}
JOBS: list[Any] = [*CONNECTORS, *((name, n) for name, count in CONNECTORS.items() for n in range(count))]


def as_jobs(listed: list[Any]) -> Jobs:
    return Jobs(
        tuple(job for job in listed if isinstance(job, str)), tuple(job for job in listed if isinstance(job, tuple))
    )


def union(jobs: Jobs) -> set[Any]:
    return {*jobs.connectors, *jobs.tasks}


def given_to(result: ConnectResult) -> dict[str, set[Any]]:
    return {member: union(share.assigned) for member, share in result.shares.items() if share.assigned}


def taken_from(result: ConnectResult) -> dict[str, set[Any]]:
    return {member: union(share.revoked) for member, share in result.shares.items() if share.revoked}


declarations = st.lists(st.sampled_from([*JOBS, "absent", ("a", 77)]), max_size=6, unique=True)
scripts = st.lists(
    st.tuples(st.sampled_from(["join", "join", "leave", "wait"]), st.integers(0, 5), declarations),
    min_size=1,
    max_size=14,
)


def play(clusters: list[Cluster], script: list[tuple[str, int, list[Any]]]) -> Any:
    """Give all clusters the same events; yields the results of each round."""
    for cluster in clusters:
        cluster.join("w")
    now = 1000
    for number, (what, chosen, declared) in enumerate(script):
        now += 500_000 if what == "wait" else 1000
        for cluster in clusters:
            if what == "join":
                cluster.join(f"w{number}")
                if cluster.protocol == "static":
                    cluster.members[f"w{number}"].static = as_jobs(declared)
            elif what == "leave" and len(cluster.members) > 1:
                cluster.leave(list(cluster.members)[chosen % len(cluster.members)])
        yield [cluster.rebalance(now) for cluster in clusters]


@given(script=scripts)
def test_every_round_keeps_jobs_where_they_belong(
    new_cluster: NewCluster, script: list[tuple[str, int, list[Any]]]
) -> None:
    cluster = new_cluster(CONNECTORS, protocol="static")
    for [result] in play([cluster], script):
        lists = {member: union(process.static) for member, process in cluster.members.items() if process.static}
        static = set().union(*lists.values()) & set(JOBS)
        revoked = set().union(*taken_from(result).values())
        after = {member: union(process.held) for member, process in cluster.members.items()}
        assert result.version == 3
        for member, jobs in after.items():
            assert jobs & set(JOBS) <= (lists[member] if member in lists else set(JOBS) - static)
        assert sum(map(len, after.values())) == len(set().union(*after.values()))
        # A static job waits for nothing but its own revocation.
        assert static <= set().union(*after.values()) | revoked
        wildcard = [member for member in after if member not in lists]
        idle = set(JOBS) - set().union(*after.values()) - revoked
        assert not idle or result.delay_ms or not wildcard
        if wildcard and not (revoked or result.delay_ms):
            for is_task in (False, True):
                loads = [sum(isinstance(job, tuple) == is_task for job in after[member]) for member in wildcard]
                assert max(loads) - min(loads) <= 1


@given(
    script=st.lists(st.tuples(st.sampled_from(["join", "leave", "wait"]), st.integers(0, 5), st.just([])), max_size=12)
)
@settings(max_examples=size(15, 400))
def test_without_declarations_it_is_sessioned(
    new_cluster: NewCluster, script: list[tuple[str, int, list[Any]]]
) -> None:
    both = [new_cluster(CONNECTORS, protocol="static"), new_cluster(CONNECTORS, protocol="sessioned")]
    for ours, theirs in play(both, script):
        assert (ours.version, theirs.version) == (3, 2)
        assert (ours.shares, ours.delay_ms) == (theirs.shares, theirs.delay_ms)
        assert both[0].after == both[1].after
        for member, share in ours.shares.items():
            ours_sent, theirs_sent = encode_share(ours, share, 17), encode_share(theirs, theirs.shares[member], 17)
            assert (ours_sent[:2], theirs_sent[:2]) == (b"\x00\x03", b"\x00\x02")
            assert ours_sent[2:] == theirs_sent[2:]


@given(declared=declarations)
def test_declarations_of_other_protocols_do_not_count(new_cluster: NewCluster, declared: list[Any]) -> None:
    plain, declaring = new_cluster(CONNECTORS), new_cluster(CONNECTORS)
    for cluster in (plain, declaring):
        cluster.join("w1", "w2")
    declaring.members["w2"].static = as_jobs(declared)
    assert plain.rebalance(0).shares == declaring.rebalance(0).shares


def test_a_static_worker_comes_goes_and_returns(new_cluster: NewCluster) -> None:
    cluster = new_cluster({"c1": 2, "c2": 2}, protocol="static")
    cluster.join("workerA", "workerB")
    assert given_to(cluster.rebalance(0)) == {
        "workerA": {"c1", ("c1", 0), ("c2", 0)},
        "workerB": {"c2", ("c1", 1), ("c2", 1)},
    }
    wanted = Jobs((), (("c1", 0), ("nowhere", 0)))
    cluster.join("workerS")
    cluster.members["workerS"].static = wanted
    taken = cluster.rebalance(1000)
    assert (taken_from(taken), given_to(taken)) == ({"workerA": {("c1", 0)}}, {})
    assert not cluster.after.revoked_in_previous
    placed = cluster.rebalance(1500)
    assert (given_to(placed), taken_from(placed), placed.delay_ms) == ({"workerS": {("c1", 0)}}, {}, 0)
    cluster.leave("workerS")
    assert cluster.rebalance(10_000).delay_ms == 300_000
    cluster.join("workerS2")
    cluster.members["workerS2"].static = wanted
    back = cluster.rebalance(60_000)
    assert (given_to(back), back.delay_ms) == ({"workerS2": {("c1", 0)}}, 0)
    cluster.leave("workerS2")
    assert cluster.rebalance(100_000).delay_ms == 300_000
    over = cluster.rebalance(400_001)
    assert (given_to(over), over.delay_ms) == ({"workerA": {("c1", 0)}}, 0)


def test_among_several_listers_the_least_loaded_runs_the_job(new_cluster: NewCluster) -> None:
    cluster = new_cluster({"c": 3}, protocol="static")
    cluster.join("s1", "s2", "w")
    cluster.members["s1"].static = Jobs((), (("c", 0), ("c", 1)))
    cluster.members["s2"].static = Jobs((), (("c", 1), ("c", 2)))
    assert given_to(cluster.rebalance(0)) == {"s1": {("c", 0)}, "s2": {("c", 1), ("c", 2)}, "w": {"c"}}


def test_a_worker_that_lists_only_missing_jobs_idles(new_cluster: NewCluster) -> None:
    cluster = new_cluster({"c": 3}, protocol="static")
    cluster.join("s", "w")
    cluster.members["s"].static = Jobs(("missing",), ())
    assert given_to(cluster.rebalance(0)) == {"w": {"c", ("c", 0), ("c", 1), ("c", 2)}}


def test_without_wildcard_workers_jobs_stay_until_one_comes(new_cluster: NewCluster) -> None:
    cluster = new_cluster({"c": 1}, protocol="static")
    cluster.join("s", "w")
    cluster.members["s"].static = Jobs((), (("c", 0),))
    assert given_to(cluster.rebalance(0)) == {"s": {("c", 0)}, "w": {"c"}}
    cluster.leave("w")
    assert cluster.rebalance(1000).delay_ms == 300_000
    over = cluster.rebalance(302_000)
    assert (given_to(over), over.delay_ms) == ({}, 0)
    cluster.join("w2")
    assert given_to(cluster.rebalance(303_000)) == {"w2": {"c"}}
