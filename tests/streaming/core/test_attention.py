"""People are told once, when it has lasted, as loudly as it harms, and of the end."""

from collections.abc import Iterable
from dataclasses import replace

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment
from rebalance_monitor.streaming.core.connect.rules.catalogue_across import REBALANCE_STORM
from rebalance_monitor.streaming.core.fold.parts import begun_anew
from rebalance_monitor.streaming.core.fold.state import stored
from rebalance_monitor.streaming.core.incidents.book import Book
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.transitions import Moment
from rebalance_monitor.streaming.core.lifecycles import REGISTRY, fold_group
from rebalance_monitor.streaming.core.model.records import Tick
from rebalance_monitor.streaming.core.model.results import AlertSeverity, Certainty, Incident
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, Damping, Owner
from tests.streaming.core.rules.builders import GROUP, Story, incidents
from tests.streaming.core.rules.cases_across import calm
from tests.streaming.core.rules.cases_headers import swapped
from tests.streaming.core.rules.cases_rounds import again_and_again
from tests.streaming.core.rules.edits import give
from tests.streaming.core.rules.processes import Given
from tests.streaming.folded_group import FoldedGroup
from tests.streaming.states import envelope_of

MINUTE_MS = 60_000


def told(found: Iterable[Incident]) -> list[tuple[str, str]]:
    return [(one.code, one.transition) for one in found]


def fold(story: Story, settings: ClusterSettings, ticks_ms: Iterable[int]) -> list[Incident]:
    """All records, then the clock at these times after the last."""
    group = FoldedGroup(settings, GROUP)
    group.fold(story.rows)
    for tick_ms in ticks_ms:
        group.fold(now_ms=story.now_ms + tick_ms)
    return incidents(group.results)


def anything_else(story: Story) -> None:
    """A further config record: the last one before a round may not have reached the leader."""
    story.config("session-key", {"algorithm": "none"}, story.snapshots[-1])


def lopsided() -> Story:
    """w1 is given everything of a new connector: an imbalance and nothing worse, as long as it stays."""
    story = calm()
    story.configure("c2", 6)
    anything_else(story)

    def all_to_one(given: Given) -> None:
        names = ("c2", *(f"c2-{number}" for number in range(6)))
        for worker in given:
            answer = given[worker]
            assert isinstance(answer, ConnectAssignment)
            given[worker] = replace(answer, connectors=(), tasks=())
        give("w1", *names)(given)

    story.rebalance(all_to_one)
    return story


def test_a_finding_is_told_when_it_has_lasted_and_not_before() -> None:
    story = lopsided()
    five = 5 * MINUTE_MS
    early = [one for one in fold(story, story.settings, (five - 1,)) if one.code == "CONNECT-I8"]
    assert told(early) == [("CONNECT-I8", "opened")]
    late = [one for one in fold(story, story.settings, (five - 1, five, five + 1)) if one.code == "CONNECT-I8"]
    assert told(late) == [("CONNECT-I8", "opened"), ("CONNECT-I8", "fired")]
    assert late[-1].firing
    assert late[-1].alert is AlertSeverity.WARNING
    assert late[-1].fired_at_ms == late[-1].opened_at_ms + five


def test_damping_is_configurable_by_title_and_by_code() -> None:
    story = lopsided()
    for name in ("imbalance", "CONNECT-I8"):
        settings = replace(story.settings, damping={name: Damping(for_ms=0)})
        found = [one for one in fold(story, settings, ()) if one.code == "CONNECT-I8"]
        assert told(found) == [("CONNECT-I8", "opened"), ("CONNECT-I8", "fired")]


def test_found_again_within_the_time_kept_it_is_the_same_incident() -> None:
    story = lopsided()
    holder = story.workers["w1"]
    kept = holder.held
    story.rebalance()
    story.rebalance()
    assert holder.held != kept
    story.configure("c3", 6)
    anything_else(story)

    def all_to_one(given: Given) -> None:
        for worker in given:
            answer = given[worker]
            assert isinstance(answer, ConnectAssignment)
            given[worker] = replace(answer, connectors=(), tasks=())
        give("w1", "c3", *(f"c3-{number}" for number in range(6)))(given)

    story.rebalance(all_to_one)
    settings = replace(story.settings, damping={"imbalance": Damping(for_ms=0, keep_firing_ms=MINUTE_MS)})
    found = [one for one in fold(story, settings, (2 * MINUTE_MS,)) if one.code == "CONNECT-I8"]
    assert [one.transition for one in found] == ["opened", "fired", "resolved", "updated"]
    assert len({one.incident_id for one in found}) == 1
    assert found[-1].firing
    assert found[-1].resolved_at_ms is None


def test_the_end_is_told_after_the_time_kept() -> None:
    story = lopsided()
    story.rebalance()
    story.rebalance()
    settings = replace(story.settings, damping={"imbalance": Damping(for_ms=0, keep_firing_ms=MINUTE_MS)})
    found = [one for one in fold(story, settings, (2 * MINUTE_MS,)) if one.code == "CONNECT-I8"]
    assert [one.transition for one in found] == ["opened", "fired", "resolved", "ended"]
    assert [one.firing for one in found] == [False, True, True, False]


def test_a_certain_duplicate_is_told_at_once_and_loudest() -> None:
    story = calm()
    double = sorted(story.workers["w2"].holds())[0]
    story.rebalance(give("w1", double))
    found = [one for one in fold(story, story.settings, ()) if one.code == "CONNECT-I1"]
    assert told(found) == [("CONNECT-I1", "opened"), ("CONNECT-I1", "fired")]
    assert found[-1].alert is AlertSeverity.CRITICAL


def test_what_was_over_before_the_monitor_had_caught_up_is_told_to_nobody() -> None:
    story = calm()
    double = sorted(story.workers["w2"].holds())[0]
    story.rebalance(give("w1", double))
    outcome = fold_group(story.settings, GROUP, None, story.rows, Tick(story.now_ms, historic=True))
    found = incidents(outcome.results, "CONNECT-I1")
    assert told(found) == [("CONNECT-I1", "opened")]
    later = fold_group(story.settings, GROUP, outcome.state, [], Tick(story.now_ms + 10 * MINUTE_MS))
    assert not incidents(later.results, "CONNECT-I1")


def test_a_storm_is_a_warning_and_wakes_somebody_after_ten_minutes() -> None:
    story = again_and_again()
    for _ in range(20):
        story.rebalance(after_ms=MINUTE_MS)
    found = [one for one in fold(story, story.settings, ()) if one.code == "CONNECT-K10"]
    assert [one.transition for one in found] == ["opened", "fired", "updated"]
    assert [one.alert for one in found[1:]] == [AlertSeverity.WARNING, AlertSeverity.CRITICAL]


def test_a_storm_that_its_owner_wants_no_louder_asks_for_no_folds() -> None:
    """Else the group would be due in every batch, for as long as the storm lasts."""
    story = again_and_again()
    for _ in range(5):
        story.rebalance(after_ms=MINUTE_MS)
    owner = Owner(groups="g*", team="pipelines", alerts={"rebalance_storm": AlertSeverity.WARNING})
    for owners, wakes in (((), 1), ((owner,), 0)):
        settings = replace(story.settings, owners=owners)
        outcome = fold_group(settings, GROUP, None, story.rows, Tick(story.now_ms))
        (storm,) = envelope_of(outcome.state).book.records.open.values()
        louder_ms = storm.opened_at_ms + 10 * MINUTE_MS
        later = fold_group(settings, GROUP, outcome.state, [], Tick(louder_ms))
        assert len(incidents(later.results, "CONNECT-K10")) == wakes
        assert later.due_ms is None or later.due_ms > louder_ms


def test_what_a_storm_suppresses_ends_too_when_a_state_is_not_carried_on() -> None:
    story = lopsided()
    settings = replace(story.settings, damping={"imbalance": Damping(for_ms=0)})
    before = envelope_of(fold_group(settings, GROUP, None, story.rows, Tick(story.now_ms)).state)
    book = Book(REGISTRY.catalogue, settings, GROUP, before.book)
    moment = Moment(cluster=settings.name, group=GROUP, incarnation=0, generation=9, at_ms=story.now_ms)
    storm = Finding(
        rule=REBALANCE_STORM,
        severity=REBALANCE_STORM.severity,
        certainty=Certainty.CERTAIN,
        subjects=(),
        message="",
        evidence=(),
    )
    changed = [*book.note(Notice(moment=moment, found=(storm,))), *book.attend(story.now_ms)]
    assert told(incidents(changed))[-1] == ("CONNECT-I8", "ended")
    anew = begun_anew(stored(replace(before, book=book.pages()), {}))
    found = incidents(fold_group(settings, GROUP, anew, [], Tick(story.now_ms)).results, "CONNECT-I8")
    assert [one.transition for one in found] == ["resolved"]
    assert found[0].resolved_at_ms == story.now_ms


def test_a_storm_speaks_for_the_imbalance_it_makes_but_not_for_a_duplicate() -> None:
    story = again_and_again()
    double = sorted(story.workers["w2"].holds())[0]
    story.rebalance(give("w1", double), after_ms=3_000)
    settings = replace(story.settings, damping={"imbalance": Damping(for_ms=0)})
    story.workers["w1"].held = replace(story.workers["w1"].held)
    firing = {one.code for one in fold(story, settings, ()) if one.firing}
    assert {"CONNECT-K10", "CONNECT-I1"} <= firing
    assert "CONNECT-I8" not in firing


def test_the_owner_s_team_is_named_and_decides_how_loud_a_rule_is() -> None:
    story = lopsided()
    owner = Owner(groups="g*", team="pipelines", alerts={"imbalance": AlertSeverity.INFO})
    settings = replace(story.settings, damping={"imbalance": Damping(for_ms=0)}, owners=(owner,))
    found = [one for one in fold(story, settings, ()) if one.code == "CONNECT-I8"]
    assert {one.team for one in found} == {"pipelines"}
    assert found[-1].alert is AlertSeverity.INFO


def test_an_answer_that_nothing_explains_is_for_a_report() -> None:
    story = swapped()
    found = [one for one in fold(story, story.settings, (5 * MINUTE_MS,)) if one.code == "CONNECT-I13"]
    assert told(found) == [("CONNECT-I13", "opened"), ("CONNECT-I13", "fired")]
    assert found[-1].alert is AlertSeverity.INFO
