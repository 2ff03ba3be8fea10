"""One harm, one incident: laws of the incident book, whatever comes and goes in whatever order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.incidents.book import Book, Changes, Pages
from rebalance_monitor.streaming.core.incidents.catalogue import Catalogue
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.grouping import DETAILED_PARTS, SAME_MOMENT_MS, SHOWN_THINGS, whole
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.transitions import MOST_EVIDENCE, Moment, key_of
from rebalance_monitor.streaming.core.model.codec import dumps, loads
from rebalance_monitor.streaming.core.model.results import (
    AlertSeverity,
    Certainty,
    Evidence,
    Incident,
    Part,
    Severity,
    Subject,
)
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import parts_of
from tests.profile import size

MINUTE_MS = 60_000
TWICE = Rule(
    code="T-1", title="twice", severity=Severity.CRITICAL, for_ms=0, alert="Twice", wrong="It runs twice.", pages=True
)
SLOW = Rule(
    code="T-2", title="slow", severity=Severity.MEDIUM, for_ms=5 * MINUTE_MS, keep_firing_ms=MINUTE_MS, alert="Slow",
    wrong="It is slow.",
)  # fmt: skip
RULES = (TWICE, SLOW)
CATALOGUE = Catalogue(RULES)
SETTINGS = ClusterSettings(name="c")


def new_book(pages: Pages | None = None) -> Book:
    return Book(CATALOGUE, SETTINGS, "g", pages or Pages())


def stored_and_read(book: Book) -> Book:
    return new_book(loads(Pages, dumps(book.pages())))


def moment(at_ms: int) -> Moment:
    return Moment(cluster="c", group="g", incarnation=0, generation=7, at_ms=at_ms)


def finding(rule: Rule, name: str, worker: str = "w1", *, possible: bool = False, cause: str = "") -> Finding:
    return Finding(
        rule=rule,
        severity=Severity.INFO if possible else rule.severity,
        certainty=Certainty.POSSIBLE if possible else Certainty.CERTAIN,
        subjects=(Subject("task", name), Subject("worker", worker)),
        message=f"{name} is broken",
        evidence=(Evidence(text=name),),
        cause=(Subject("worker", cause),) if cause else (),
    )


@dataclass(frozen=True)
class Event:
    """At a time a subject is found broken (`possible`: only perhaps), or is not any more."""

    after_ms: int
    rule: Rule
    name: str
    heals: bool
    possible: bool


events = st.builds(
    Event,
    st.sampled_from([0, 1, MINUTE_MS, 4 * MINUTE_MS, SAME_MOMENT_MS]),
    st.sampled_from(RULES),
    st.sampled_from(["a-0", "a-1", "b-0", "c|task=d-0"]),
    st.booleans(),
    st.booleans(),
)


def run(story: Sequence[Event], cuts: frozenset[int] = frozenset()) -> tuple[Book, Changes]:
    """All events, the timers between, then the end of whatever is left. At the cuts the book is stored and read."""
    book, published, now_ms = new_book(), Changes(), 0
    for number, event in enumerate(story):
        if number in cuts:
            book = stored_and_read(book)
        now_ms += event.after_ms
        while (due_ms := book.due_ms()) is not None and due_ms <= now_ms:
            published += book.attend(due_ms)
        reported = finding(event.rule, event.name, possible=event.possible)
        over = (key_of(event.rule.code, reported.subjects),) if event.heals else ()
        published += book.note(Notice(moment=moment(now_ms), found=() if event.heals else (reported,), over=over))
        published += book.attend(now_ms)
    published += book.note(Notice(moment=moment(now_ms), evaluated=frozenset(rule.code for rule in RULES)))
    while (due_ms := book.due_ms()) is not None:
        published += book.attend(due_ms)
    return book, published


def incidents(published: Sequence[Incident | Part]) -> list[Incident]:
    return [one for one in published if isinstance(one, Incident)]


@given(st.lists(events, max_size=30))
@settings(max_examples=size(60, 2_000))
def test_each_incident_is_opened_once_notified_once_and_ends(story: list[Event]) -> None:
    book, published = run(story)
    assert book.pages() == Pages()
    steps: dict[str, list[Incident]] = {}
    for incident in incidents(published):
        steps.setdefault(incident.incident_id, []).append(incident)
    for history in steps.values():
        counted = Counter(one.transition for one in history)
        # Found again at the very moment of its end, the same incident opens again.
        assert history[0].transition == "opened"
        assert not history[-1].firing
        assert history[-1].transition in ("resolved", "ended")
        assert counted["fired"] <= counted["opened"]
        for before, after in pairwise(history):
            assert before != after
            if before.transition == "resolved" and not before.firing:
                assert after.transition == "opened"


@given(st.lists(events, max_size=30))
@settings(max_examples=size(60, 2_000))
def test_no_subject_is_lost(story: list[Event]) -> None:
    """Every subject found is a part of exactly one open incident until it heals; what an incident lists is open."""
    book, now_ms, broken = new_book(), 0, set[str]()
    for event in story:
        now_ms += event.after_ms
        while (due_ms := book.due_ms()) is not None and due_ms <= now_ms:
            book.attend(due_ms)
        reported = finding(event.rule, event.name, possible=event.possible)
        key = key_of(event.rule.code, reported.subjects)
        broken = broken - {key} if event.heals else broken | {key}
        over = (key,) if event.heals else ()
        book.note(Notice(moment=moment(now_ms), found=() if event.heals else (reported,), over=over))
        book.attend(now_ms)
        assert book.open().keys() == broken
        page = book.pages().records
        open_ids = {part.incident_id for part in page.open.values()}
        assert open_ids == {one.incident_id for one in page.incidents.values() if one.resolved_at_ms is None}
        for incident in page.incidents.values():
            own = [part for part in page.open.values() if part.incident_id == incident.incident_id]
            if own:
                assert incident.parts == len(own)
                assert set(incident.subjects) == {subject for part in own for subject in part.subjects}
                assert incident.severity == min((part.severity for part in own), key=list(Severity).index)


@given(st.lists(events, max_size=30))
@settings(max_examples=size(30, 1_000))
def test_two_open_incidents_never_share_rule_cause_and_moment(story: list[Event]) -> None:
    book, now_ms = new_book(), 0
    for event in story:
        now_ms += event.after_ms
        reported = finding(event.rule, event.name, possible=event.possible)
        over = (key_of(event.rule.code, reported.subjects),) if event.heals else ()
        book.note(Notice(moment=moment(now_ms), found=() if event.heals else (reported,), over=over))
        book.attend(now_ms)
        known = book.pages().records.incidents.values()
        assert len({one.incident_id for one in known}) == len(known)
        for first in known:
            for second in known:
                same = (first.code, first.cause) == (second.code, second.cause) and first is not second
                assert not (same and abs(first.opened_at_ms - second.opened_at_ms) < SAME_MOMENT_MS)


@given(st.lists(events, max_size=20), st.frozensets(st.integers(0, 20)))
@settings(max_examples=size(30, 1_000))
def test_cuts_of_batches_change_nothing(story: list[Event], cuts: frozenset[int]) -> None:
    assert run(story, cuts)[1] == run(story)[1]


@given(st.lists(events, max_size=20), st.randoms(use_true_random=False))
@settings(max_examples=size(30, 1_000))
def test_what_an_incident_was_about_is_a_function_of_its_parts(story: list[Event], order: Random) -> None:
    published = run(story)[1]
    last = {one.incident_id: one for one in incidents(published)}
    for name, parts in parts_of(one for one in published if isinstance(one, Part)).items():
        found = whole(last[name], parts)
        shuffled = list(parts)
        order.shuffle(shuffled)
        assert whole(last[name], shuffled) == found
        assert found.severity == min((one.severity for one in parts), key=list(Severity).index)
        assert found.parts == len(parts)


def test_a_part_that_was_worse_once_ends_as_bad_as_it_was() -> None:
    book = new_book()
    book.note(Notice(moment=moment(0), found=(finding(TWICE, "a-0"),)))
    book.note(Notice(moment=moment(1), found=(finding(TWICE, "a-0", possible=True),)))
    changed = book.note(Notice(moment=moment(2), evaluated=frozenset({TWICE.code})))
    (part,) = (one for one in changed if isinstance(one, Part))
    assert (part.severity, part.certainty) == (Severity.CRITICAL, Certainty.CERTAIN)


found_at_once = st.lists(
    st.builds(
        finding,
        st.sampled_from(RULES),
        st.sampled_from([f"a-{number}" for number in range(6)]),
        st.sampled_from(["w1", "w2"]),
        possible=st.booleans(),
        cause=st.sampled_from(["", "w1", "w3"]),
    ),
    max_size=12,
    unique_by=lambda one: (one.rule.code, one.subjects),
)


@given(found_at_once, st.randoms(use_true_random=False))
def test_the_order_of_findings_changes_no_incident(found: list[Finding], order: Random) -> None:
    shuffled = list(found)
    order.shuffle(shuffled)
    pages = []
    for some in (found, shuffled):
        book = new_book()
        book.note(Notice(moment=moment(0), found=tuple(some)))
        book.attend(0)
        page = book.pages().records
        pages.append((dict(page.open), dict(page.incidents)))
    assert pages[0] == pages[1]


@given(st.lists(st.tuples(st.text(), st.text()), min_size=2, max_size=2, unique=True))
def test_two_parts_never_share_a_key(names: list[tuple[str, str]]) -> None:
    first, second = (key_of("T-1", (Subject("task", task), Subject("worker", worker))) for task, worker in names)
    assert first != second


def test_a_frozen_worker_with_300_tasks_is_notified_once() -> None:
    book, published = new_book(), Changes()
    for number in range(300):
        reported = finding(TWICE, f"c{number % 12}-{number}", f"w{number % 5 + 2}", cause="w1")
        reported = replace(reported, subjects=(*reported.subjects, Subject("worker", "w1")))
        at_ms = number * 20
        published += [*book.note(Notice(moment=moment(at_ms), found=(reported,))), *book.attend(at_ms)]
    counted = Counter(one.transition for one in incidents(published))
    assert (counted["opened"], counted["fired"], counted["resolved"]) == (1, 1, 0)
    last = incidents(published)[-1]
    assert last.parts == 300
    assert last.alert is AlertSeverity.CRITICAL
    assert Subject("worker", "w1") in last.common
    assert len([one for one in last.subjects if one.type == "task"]) == SHOWN_THINGS
    assert last.more == 300 - SHOWN_THINGS
    assert len(last.message) < 300
    (found,) = parts_of(one for one in published if isinstance(one, Part)).values()
    assert len(found) == 300
    assert all(one.message and one.evidence for one in found)
    stored = [part for part in book.pages().records.open.values() if part.message]
    assert len(stored) == DETAILED_PARTS


def test_a_subject_added_later_is_news_only_if_it_is_worse() -> None:
    book = new_book()
    first = finding(TWICE, "a-0", possible=True)
    assert [one.alert for one in incidents([*book.note(Notice(moment=moment(0), found=(first,))), *book.attend(0)])]
    more = finding(TWICE, "a-1", possible=True)
    changed = incidents([*book.note(Notice(moment=moment(1), found=(more,))), *book.attend(1)])
    assert [(one.transition, one.alert) for one in changed] == [("updated", AlertSeverity.INFO)]
    worse = finding(TWICE, "a-1")
    changed = incidents([*book.note(Notice(moment=moment(2), found=(worse,))), *book.attend(2)])
    assert [one.alert for one in changed] == [AlertSeverity.INFO, AlertSeverity.CRITICAL]
    assert changed[-1].message.startswith("a-1 is broken; also task a-0")


def test_what_comes_long_after_the_first_record_is_an_incident_of_its_own() -> None:
    """Else nobody would be notified of it while the first one lasts."""
    book = new_book()
    ids = []
    for at_ms in (0, SAME_MOMENT_MS - 1, SAME_MOMENT_MS):
        changed = incidents(book.note(Notice(moment=moment(at_ms), found=(finding(TWICE, f"a-{at_ms}"),))))
        ids.append(changed[-1].incident_id)
    assert ids[0] == ids[1] != ids[2]


def test_a_part_is_damped_by_itself_and_the_incident_opens_with_the_first_that_has_lasted() -> None:
    book = new_book()
    book.note(Notice(moment=moment(0), found=(finding(SLOW, "a-0"),)))
    book.note(Notice(moment=moment(2 * MINUTE_MS), found=(finding(SLOW, "a-1"),)))
    gone = key_of(SLOW.code, finding(SLOW, "a-0").subjects)
    book.note(Notice(moment=moment(3 * MINUTE_MS), over=(gone,)))
    assert book.due_ms() == 7 * MINUTE_MS
    (fired,) = incidents(book.attend(7 * MINUTE_MS))
    assert (fired.transition, fired.fired_at_ms) == ("fired", 7 * MINUTE_MS)


def test_what_is_found_again_and_again_keeps_its_first_and_its_last_evidence() -> None:
    """A finding that is sure and not sure in turns, record after record, must not grow the state for ever."""
    book = new_book()
    for offset in range(1_000):
        here = replace(finding(TWICE, "a-0", possible=offset % 2 == 1), evidence=(Evidence(text=str(offset)),))
        book.note(Notice(moment=moment(offset), found=(here,), evaluated=frozenset({TWICE.code})))
    (part,) = book.open().values()
    texts = [one.text for one in part.evidence]
    assert len(texts) <= MOST_EVIDENCE
    assert (texts[0], texts[-1]) == ("0", "999")
