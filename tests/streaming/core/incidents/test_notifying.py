"""Incidents of one harm are one notification: laws of who leads whom."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.incidents.grouping import SAME_MOMENT_MS
from rebalance_monitor.streaming.core.incidents.notifying import Notifications, NotifiedIncident, notifications
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Certainty, Incident, Severity, Subject
from tests.profile import size
from tests.streaming.builders import incident

LOUD = (AlertSeverity.CRITICAL, AlertSeverity.WARNING, AlertSeverity.INFO)


def firing(name: str, tasks: Sequence[str] = ("a-0",), transition: str = "fired", **more: object) -> Incident:
    subjects = tuple(Subject("task", one) for one in tasks)
    return incident(transition, name, rule=f"rule_{name}", subjects=subjects, **{"opened_at_ms": 0, **more})


def over(incident: Incident) -> Incident:
    return replace(incident, transition="resolved", firing=False, resolved_at_ms=1)


def told(found: Sequence[Incident]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(one.incident_id, one.transition, one.also) for one in found]


def test_one_doubled_task_is_one_notification_from_its_beginning_to_its_end() -> None:
    held, handed = firing("1"), firing("3", alert=AlertSeverity.INFO)
    known, found, _ = notifications({}, [handed, held])
    assert told(found) == [("1", "fired", ("rule_3",))]
    twice = firing("2", opened_at_ms=30_000, alert=AlertSeverity.WARNING, severity=Severity.MEDIUM)
    known, found, _ = notifications(known, [over(held), over(handed), twice])
    assert told(found) == []
    known, found, _ = notifications(known, [over(twice)])
    assert told(found) == [("1", "resolved", ())]
    assert known == {}


def test_who_becomes_louder_than_its_leader_is_notified() -> None:
    leader, follower = firing("1", alert=AlertSeverity.WARNING), firing("2", alert=AlertSeverity.INFO)
    known, _, _ = notifications({}, [leader, follower])
    assert known["2"].led_by == "1"
    louder = replace(follower, transition="updated", alert=AlertSeverity.CRITICAL)
    known, found, _ = notifications(known, [louder])
    assert told(found) == [("2", "fired", ())]
    assert told(notifications(known, [over(leader)])[1]) == [("1", "resolved", ())]


def test_a_leader_that_becomes_quieter_no_longer_stands_for_who_is_louder() -> None:
    known, _, _ = notifications({}, [firing("1"), firing("2", alert=AlertSeverity.WARNING)])
    quieter = firing("1", transition="updated", alert=AlertSeverity.INFO)
    assert told(notifications(known, [quieter])[1]) == [("1", "updated", ()), ("2", "fired", ())]


def test_what_shares_nothing_or_comes_later_is_a_notification_of_its_own() -> None:
    known, _, _ = notifications({}, [firing("1")])
    for other in (firing("2", ["b-0"]), firing("2", opened_at_ms=SAME_MOMENT_MS), firing("2", group="another")):
        assert told(notifications(known, [other])[1]) == [("2", "fired", ())]


def test_a_worker_counts_only_where_nothing_else_is_named() -> None:
    worker = Subject("worker", "w1")
    first, two = firing("1"), firing("2", ["b-0"])
    apart = [replace(each, subjects=(*each.subjects, worker)) for each in (first, two)]
    assert len(told(notifications({}, apart)[1])) == 2
    together = [replace(each, subjects=(worker,)) for each in (first, two)]
    assert len(told(notifications({}, together)[1])) == 1


incidents = st.lists(
    st.builds(
        firing,
        st.sampled_from("12345"),
        st.lists(st.sampled_from(["a-0", "a-1", "b-0"]), min_size=1, max_size=2, unique=True),
        alert=st.sampled_from(LOUD),
        severity=st.sampled_from(list(Severity)),
        certainty=st.sampled_from(list(Certainty)),
        opened_at_ms=st.sampled_from([0, 1, SAME_MOMENT_MS]),
    ),
    max_size=5,
    unique_by=lambda one: one.incident_id,
)


@given(incidents, st.randoms(use_true_random=False))
def test_every_incident_is_notified_or_has_a_leader_that_is_not_quieter(some: list[Incident], order: Random) -> None:
    known, found, _ = notifications({}, some)
    assert known.keys() == {one.incident_id for one in some}
    alone = {name for name, one in known.items() if not one.led_by}
    assert {one.incident_id for one in found} == alone
    for current in known.values():
        if current.led_by:
            leader = known[current.led_by].incident
            assert current.led_by in alone
            assert LOUD.index(leader.alert) <= LOUD.index(current.incident.alert)
            assert set(current.incident.subjects) & set(leader.subjects)
    shuffled = list(some)
    order.shuffle(shuffled)
    assert notifications({}, shuffled)[0] == known


steps = st.lists(
    st.tuples(st.sampled_from("1234"), st.sampled_from(["fire", "louder", "quieter", "resolve"])), max_size=25
)


def nobody_is_left_out(
    before: Mapping[str, NotifiedIncident], commit: Sequence[Incident], after: Notifications
) -> None:
    """What fires in a commit is told, or led; what is over by its end is named by its leader, if that is told now."""
    heard_of = {
        *before,
        *after.known,
        *after.followed,
        *(one.incident_id for one in after.told if one.transition != "opened"),
    }
    assert {one.incident_id for one in commit if one.firing} <= heard_of
    named = {rule for one in after.told for rule in one.also}
    for one in after.followed.values():
        assert one.led_by in before or one.incident.rule in named


@given(steps, st.lists(st.integers(1, 5), max_size=25))
@settings(max_examples=size(100, 3_000))
def test_what_fires_is_notified_until_it_is_over_and_nothing_is_left(
    story: list[tuple[str, str]], sizes: list[int]
) -> None:
    """Whatever fires has at each commit somebody that people were notified of, as loud; each end is notified once."""
    state: dict[str, Incident] = {}
    transitions: list[Incident] = []
    for name, what in story:
        before = state.get(name)
        if before is None:
            if what == "fire":
                state[name] = firing(name, alert=LOUD[int(name) % 3])
                transitions += (replace(state[name], transition="opened", firing=False), state[name])
            continue
        now = over(before)
        if what in ("louder", "quieter"):
            step = -1 if what == "louder" else 1
            alert = LOUD[min(max(LOUD.index(before.alert) + step, 0), 2)]
            now = replace(before, transition="updated", alert=alert)
        if now.firing:
            state[name] = now
        else:
            del state[name]
        transitions.append(now)
    transitions += map(over, state.values())
    known: dict[str, NotifiedIncident] = {}
    open_now: dict[str, Incident] = {}
    last: dict[str, Incident] = {}
    sizes = [*sizes, len(transitions)]
    while transitions:
        size = sizes.pop(0) if sizes else len(transitions)
        commit, transitions = transitions[:size], transitions[size:]
        after = notifications(known, commit)
        nobody_is_left_out(known, commit, after)
        known, found = after.known, [one for one in after.told if one.transition != "opened"]
        for current in commit:
            last[current.incident_id] = current
        for current in found:
            assert current.firing or current.incident_id in open_now or current.transition == "resolved"
            if current.firing:
                open_now[current.incident_id] = current
            else:
                open_now.pop(current.incident_id, None)
        for current in last.values():
            if current.firing:
                assert min(LOUD.index(each.alert) for each in open_now.values()) <= LOUD.index(current.alert)
        assert open_now.keys() == {name for name, one in known.items() if not one.led_by}
    assert known == {}
    assert open_now == {}


def test_a_follower_that_begins_and_ends_within_one_commit_is_named_by_its_leader() -> None:
    """As after a restart, when one commit brings what had happened meanwhile."""
    leader, follower = firing("1"), firing("2", alert=AlertSeverity.WARNING)
    for commit in ([leader, follower, over(follower)], [follower, over(follower), leader]):
        known, found, followed = notifications({}, commit)
        assert told(found) == [("1", "fired", ("rule_2",))]
        assert (list(known), [(name, one.led_by) for name, one in followed.items()]) == (["1"], [("2", "1")])
    opened = [replace(one, transition="opened", firing=False) for one in (leader, follower)]
    _, found, followed = notifications({}, [*opened, leader, follower, over(follower)])
    assert [one for one in told(found) if one[1] != "opened"] == [("1", "fired", ("rule_2",))]
    assert followed["2"].led_by == "1"
    known, found, followed = notifications({}, [leader, follower, over(leader), over(follower)])
    assert told(found) == [("1", "fired", ("rule_2",)), ("1", "resolved", ())]
    assert (known, followed["2"].led_by) == ({}, "1")


def test_whose_leader_is_not_known_is_notified_by_itself() -> None:
    """As when the database refused the leader's row: nobody else names the follower, and nothing may fail over it."""
    known = {"2": NotifiedIncident(firing("2"), led_by="1")}
    after, found, _ = notifications(known, [firing("2", transition="updated")])
    assert told(found) == [("2", "updated", ())]
    assert after["2"].led_by == ""
    assert told(notifications(known, [over(firing("2"))])[1]) == [("2", "resolved", ())]
