"""A stored state that cannot be read: the group begins anew, and incidents that it left open end."""

from collections.abc import Callable

import pytest

from rebalance_monitor.streaming.core.fold.parts import begun_anew
from rebalance_monitor.streaming.core.fold.state import STATE_VERSION, Saved
from rebalance_monitor.streaming.core.lifecycles import fold_group
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import Incident
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.ports import GroupKey, StoredState
from rebalance_monitor.streaming.spark.group_states import StoredGroups
from tests.streaming.core.rules.builders import GROUP, Story
from tests.streaming.core.rules.cases_across import never_handed_out_after_the_delay
from tests.streaming.core.rules.cases_status import runs_what_another_holds
from tests.streaming.spark.memory_store import MemoryStore
from tests.streaming.states import envelope_of


@pytest.mark.parametrize("story", [runs_what_another_holds, never_handed_out_after_the_delay])
def test_incidents_of_a_state_that_cannot_be_read_end_once_with_the_reason(story: Callable[[], Story]) -> None:
    """Be they the group's or its timeline's, told or not; and what still holds is found again."""
    told = story().until(30 * 60_000)
    outcome = fold_group(told.settings, GROUP, None, told.rows, Tick(told.now_ms))
    for now_ms in (told.now_ms + 15_000, told.now_ms + 600_000):
        outcome = fold_group(told.settings, GROUP, outcome.state, [], Tick(now_ms))
    book = envelope_of(outcome.state).book
    left = {one.incident_id for one in (*book.records.open.values(), *book.events.open.values())}
    assert left
    anew = begun_anew(outcome.state)
    assert anew is not None
    first = fold_group(told.settings, GROUP, anew, [], Tick(told.now_ms + 700_000))
    ended = {one.incident_id: one for one in first.results if isinstance(one, Incident)}
    assert left == ended.keys()
    assert all(one.transition == "resolved" and not one.firing for one in ended.values())
    assert all("cannot read what was stored" in one.message for one in ended.values())
    second = fold_group(told.settings, GROUP, first.state, [], Tick(told.now_ms + 800_000))
    assert not second.results


HOLDS_NONE = (b"\xff", b"[]", b"{}", b'{"book":{"records":{"incidents":{"a":{"rule":1}}},"events":[]}}', b"null")


@pytest.mark.parametrize("state", HOLDS_NONE)
def test_what_holds_no_readable_incident_begins_anew_like_any(state: bytes) -> None:
    assert begun_anew(Saved(state)) is None


@pytest.mark.parametrize("version", [0, STATE_VERSION, STATE_VERSION + 1])
def test_a_state_of_another_version_is_not_read_and_the_log_says_so(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    store = MemoryStore()
    store.states[GroupKey("c", "g")] = StoredState(version=version, state=b"{}", due_ms=None)
    (task,) = StoredGroups(store, ClusterSettings(name="c"), {"g": ()}).tasks
    if version == STATE_VERSION:
        assert (task.state, caplog.records) == (Saved(b"{}"), [])
    else:
        (line,) = caplog.records
        assert task.state is None
        assert f"has version {version}, this release reads {STATE_VERSION}" in line.__dict__["fields"]["reason"]
