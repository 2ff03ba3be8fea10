"""What simulated workers say and keep, and that each fault of a leader breaks what it is named after."""

import pytest

from lab.cluster.config_topic import ConfigLog
from lab.errors import LabError
from lab.simulated_group.faults import LeaderFault, remembers, seen_wrongly, spoil
from lab.simulated_group.protocol import Mode, Process, kept, offers
from lab.simulated_group.status import StatusLog
from rebalance_monitor.assignors.connect.model import (
    ConfigSnapshot,
    ConnectMember,
    ConnectResult,
    ConnectRound,
    Jobs,
    LeaderMemory,
    MemberShare,
)
from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState, decode_worker_state
from rebalance_monitor.schemas.outcomes import Decoded

URL = "http://127.0.0.1:18083/"
LISTED = Jobs(("alpha",), (("beta", 1),))
CONNECTORS = {"alpha": 2, "beta": 3}


def assignment(
    connectors: tuple[str, ...] = (), tasks: tuple[tuple[str, int], ...] = (), **more: object
) -> ConnectAssignment:
    return ConnectAssignment(
        version=2,
        leader="L",
        leader_url=URL,
        config_offset=7,
        connectors=connectors,
        tasks=tasks,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("mode", "offered"),
    [
        (Mode.EAGER, [("default", 0)]),
        (Mode.COMPATIBLE, [("compatible", 1), ("default", 0)]),
        (Mode.SESSIONED, [("sessioned", 2), ("compatible", 1), ("default", 0)]),
        (Mode.STATIC, [("static", 3), ("sessioned", 2), ("compatible", 1), ("default", 0)]),
    ],
    ids=lambda value: value.name.lower() if isinstance(value, Mode) else "",
)
def test_a_worker_offers_its_level_and_every_lower_one(mode: Mode, offered: list[tuple[str, int]]) -> None:
    held = assignment(("alpha",), (("alpha", 0),))
    said = offers(Process(mode, LISTED), URL, 7, held, 17)
    states = {name: state(blob) for name, blob in said}
    assert [(name, int.from_bytes(blob[:2])) for name, blob in said] == offered
    for name, version in offered:
        if version:
            allocation = states[name].allocation
            assert allocation is not None
            assert (allocation.version, allocation.connectors, allocation.tasks) == (
                version,
                held.connectors,
                held.tasks,
            )
        declared = Jobs(states[name].static_connectors, states[name].static_tasks)
        assert declared == (LISTED if version == 3 else Jobs())


def state(blob: bytes) -> WorkerState:
    outcome = decode_worker_state(blob, static=True)
    assert isinstance(outcome, Decoded)
    return outcome.value


def test_new_jobs_stand_before_the_retained_ones() -> None:
    held = assignment(("alpha", "beta"), (("alpha", 0), ("beta", 0)))
    given = assignment(("gamma",), (("gamma", 0),), revoked_connectors=("alpha",), revoked_tasks=(("beta", 0),))
    after = kept(held, given, "sessioned")
    assert after.connectors == ("gamma", "beta")
    assert after.tasks == (("gamma", 0), ("alpha", 0))
    assert not after.revoked_connectors
    assert kept(after, given, "sessioned") == after


def test_an_eager_answer_replaces_what_was_held() -> None:
    given = assignment((), (("beta", 2),))
    assert kept(assignment(("alpha",), (("alpha", 0),)), given, "default") == given


def member(name: str, held: Jobs, static: Jobs = Jobs()) -> ConnectMember:  # noqa: B008
    return ConnectMember(id=name, url=f"http://{name}/", config_offset=7, held=held, static=static)


# s1 lists alpha, alpha-0, alpha-1 and is being given alpha-0; s2 lists only what does not exist; w1 gives up beta-1.
MEMBERS = (
    member("s1", Jobs(("alpha",), (("alpha", 1),)), Jobs(("alpha",), (("alpha", 0), ("alpha", 1)))),
    member("s2", Jobs(), Jobs(("gamma",), ())),
    member("s3", Jobs((), (("beta", 1),)), Jobs((), (("beta", 1),))),
    member("w1", Jobs(("beta",), (("beta", 0),))),
    member("w2", Jobs((), (("alpha", 0),))),
)
SHARES = {
    "s1": MemberShare(),
    "s2": MemberShare(),
    "s3": MemberShare(),
    "w1": MemberShare(),
    "w2": MemberShare(Jobs((), (("beta", 2),)), Jobs((), (("alpha", 0),))),
}
RIGHT = ConnectResult(version=3, error=0, leader="w1", leader_url=URL, config_offset=7, delay_ms=0, shares=SHARES)


def holds(result: ConnectResult) -> dict[str, set[object]]:
    hands: dict[str, set[object]] = {}
    for member in MEMBERS:
        share = result.shares[member.id]
        left = {*member.held.connectors, *member.held.tasks} - {*share.revoked.connectors, *share.revoked.tasks}
        hands[member.id] = {*left, *share.assigned.connectors, *share.assigned.tasks}
    return hands


PLACED = {"s1": MemberShare(Jobs((), (("alpha", 0),))), "w2": MemberShare(Jobs((), (("beta", 2),)))}
WITHOUT_ALPHA_0 = tuple(one if one.id != "w2" else member("w2", Jobs()) for one in MEMBERS)


@pytest.mark.parametrize(
    ("fault", "who", "job", "has"),
    [
        (LeaderFault.DUPLICATE, "w1", ("beta", 2), True),
        (LeaderFault.MISPLACED_KEPT, "w2", ("alpha", 0), True),
        (LeaderFault.WILDCARD_ON_STATIC, "s3", ("beta", 2), True),
        (LeaderFault.WILDCARD_UNPLACED, "w2", ("beta", 2), False),
        (LeaderFault.WRONG_ARITHMETIC, "s1", "alpha", False),
        (LeaderFault.NEVER_ENDING_REVOCATIONS, "s1", "alpha", False),
    ],
    ids=lambda value: value.name.lower() if isinstance(value, LeaderFault) else "",
)
def test_a_fault_moves_one_job(fault: LeaderFault, who: str, job: object, has: bool) -> None:
    wrong = spoil(fault, RIGHT, MEMBERS, CONNECTORS)
    assert wrong is not None
    before, after = holds(RIGHT), holds(wrong)
    assert (job in after[who]) is has
    assert sum(len(before[name] ^ after[name]) for name in before) <= 2


@pytest.mark.parametrize(
    ("fault", "who"),
    [
        (LeaderFault.STATIC_ON_WILDCARD, {"w1", "w2"}),
        (LeaderFault.STATIC_ON_STRANGER, {"s3"}),
        (LeaderFault.STATIC_UNPLACED, set()),
    ],
    ids=lambda value: value.name.lower() if isinstance(value, LeaderFault) else "",
)
def test_a_static_job_goes_astray_while_it_is_placed(fault: LeaderFault, who: set[str]) -> None:
    right = ConnectResult(
        version=3, error=0, leader="w1", leader_url=URL, config_offset=7, delay_ms=0, shares={**SHARES, **PLACED}
    )
    wrong = spoil(fault, right, WITHOUT_ALPHA_0, CONNECTORS)
    assert wrong is not None
    given = {name for name, share in wrong.shares.items() if ("alpha", 0) in share.assigned.tasks}
    assert given <= who
    assert bool(given) is bool(who)


def test_loads_are_made_uneven_only_where_nothing_is_pending() -> None:
    """While jobs are revoked or wait, an uneven answer breaks no law of balance: the fault would be a different one."""
    held = Jobs(("alpha",), (("alpha", 0), ("alpha", 1)))
    members = (member("w1", held), member("w2", Jobs()), member("w3", Jobs()))
    given = {
        "w2": MemberShare(Jobs(("beta",), (("beta", 0), ("beta", 1)))),
        "w3": MemberShare(Jobs((), (("beta", 2),))),
    }

    def answer(first: MemberShare, **others: MemberShare) -> ConnectResult:
        shares = {"w1": first, **given, **others}
        return ConnectResult(
            version=2, error=0, leader="w1", leader_url=URL, config_offset=7, delay_ms=0, shares=shares
        )

    wrong = spoil(LeaderFault.IMBALANCE, answer(MemberShare()), members, CONNECTORS)
    assert wrong is not None
    assert sorted(len(share.assigned.tasks) for share in wrong.shares.values()) == [0, 0, 3]
    taken = MemberShare(Jobs(), Jobs(("alpha",), ()))
    assert spoil(LeaderFault.IMBALANCE, answer(taken), members, CONNECTORS) is None
    assert spoil(LeaderFault.IMBALANCE, answer(MemberShare(), w3=MemberShare()), members, CONNECTORS) is None


def test_an_opportunity_that_is_not_there_is_not_taken() -> None:
    calm = ConnectResult(
        version=2, error=0, leader="w1", leader_url=URL, config_offset=7, delay_ms=0,
        shares={one.id: MemberShare() for one in MEMBERS},
    )  # fmt: skip
    waiting = {LeaderFault.DUPLICATE, LeaderFault.IMBALANCE, LeaderFault.STATIC_UNPLACED, LeaderFault.MISPLACED_KEPT}
    assert [spoil(fault, calm, MEMBERS, CONNECTORS) for fault in waiting] == [None] * len(waiting)
    assert spoil(LeaderFault.WRONG_ARITHMETIC, RIGHT, MEMBERS[:1], CONNECTORS) is None


def test_a_leader_believes_in_the_revocations_it_has_sent() -> None:
    wrong = spoil(LeaderFault.WRONG_ARITHMETIC, RIGHT, MEMBERS, CONNECTORS)
    assert wrong is not None
    memory = LeaderMemory(previous=Jobs(("alpha", "beta"), ()), previous_revoked=Jobs((), (("alpha", 0),)))
    after = remembers(memory, RIGHT, wrong)
    assert after.previous == Jobs(("beta",), ())
    assert after.previous_revoked == Jobs(("alpha",), (("alpha", 0),))
    assert remembers(after, wrong, RIGHT) == memory


def round_under(protocol: str) -> ConnectRound:
    return ConnectRound(
        now_ms=0, generation=5, last_completed_generation=4, protocol=protocol, leader="w1",
        config=ConfigSnapshot(7, CONNECTORS), members=MEMBERS,
    )  # fmt: skip


def test_beliefs_about_declarations_matter_under_their_protocol_only() -> None:
    declared = {"http://w1/": LISTED}
    hidden = seen_wrongly(LeaderFault.HIDDEN_DECLARATIONS, round_under("sessioned"), CONNECTORS, declared)
    assert hidden is not None
    assert {one.id: one.static for one in hidden.members if one.static} == {"w1": LISTED}
    assert seen_wrongly(LeaderFault.HIDDEN_DECLARATIONS, round_under("static"), CONNECTORS, declared) is None
    forgotten = seen_wrongly(LeaderFault.MISSING_FORGOTTEN, round_under("static"), CONNECTORS, {})
    assert forgotten is not None
    assert [one.id for one in forgotten.members if not one.static] == ["s2", "w1", "w2"]


def test_a_configuration_given_once_cannot_be_changed() -> None:
    with pytest.raises(LabError, match="once and for all"):
        ConfigLog("127.0.0.1:1", None, ConfigSnapshot(7, CONNECTORS)).create("gamma", 1)


def test_only_the_latest_owner_may_say_that_a_job_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    log = StatusLog("127.0.0.1:1", "statuses")
    written: list[object] = []
    monkeypatch.setattr(log, "_append", lambda job, value: written.append((job, value is None)))
    log.put("alpha", "RUNNING", "w1:1", 3)
    log.put("alpha", "RUNNING", "w2:1", 4)
    log.put("alpha", "UNASSIGNED", "w1:1", 3)
    log.put("alpha", "UNASSIGNED", "w1:1", 5)
    log.put("alpha", "UNASSIGNED", "w1:1", 3)
    log.remove("alpha")
    log.remove("alpha")
    assert written == [("alpha", False)] * 4 + [("alpha", True)]
