"""A run in a generation whose record has not come: judged when it comes, else said not to be judged (CONNECT-K3)."""

from rebalance_monitor.streaming.core.model.results import Certainty, Result, Severity
from tests.streaming.core.rules.builders import Story, incidents
from tests.streaming.core.rules.cases_status import JOB, owner_of, owners, record_is_never_read

CODE = "CONNECT-K3"


def watched(story: Story, until_ms: int) -> list[Result]:
    """What a monitor that reads along says, every second until so long after the last record."""
    group, rows = story.followed(), list(story.rows)
    for now_ms in range(rows[0].timestamp_ms, story.now_ms + until_ms, 1_000):
        batch = [row for row in rows if row.timestamp_ms <= now_ms]
        rows = rows[len(batch) :]
        group.fold(batch, now_ms)
    return group.results


def stranger_of(story: Story) -> str:
    return next(one for one in story.workers if one != owner_of(story, JOB))


def test_it_is_judged_when_the_record_comes() -> None:
    story = owners()
    story.status(JOB, "RUNNING", stranger_of(story), generation=2)
    story.rebalance(after_ms=45_000)
    found = incidents(watched(story, 20_000), CODE)
    assert {(one.severity, one.certainty) for one in found} == {(Severity.HIGH, Certainty.LIKELY)}


def test_it_is_judged_even_if_it_was_said_not_to_be() -> None:
    story = owners()
    story.status(JOB, "RUNNING", stranger_of(story), generation=2)
    story.rebalance(after_ms=90_000)
    found = incidents(watched(story, 20_000), CODE)
    assert [one.severity for one in found if one.transition in ("opened", "updated")][:2] == [
        Severity.INFO,
        Severity.HIGH,
    ]


def test_it_is_over_if_the_record_gives_it_the_job() -> None:
    story = owners()
    first = owner_of(story, JOB)
    story.status(JOB, "RUNNING", stranger_of(story), generation=2)
    story.leave(first)
    story.rebalance(after_ms=90_000)
    found = incidents(watched(story, 20_000), CODE)
    assert [one.transition for one in found if one.transition != "fired"] == ["opened", "resolved"]
    assert {(one.severity, one.certainty) for one in found} == {(Severity.INFO, Certainty.POSSIBLE)}


def test_without_the_record_it_is_said_not_to_be_judged() -> None:
    """After the wait for evidence, at the end of the input, or when a later generation shows that it is missing."""
    later = owners()
    later.rebalance(recorded=False)
    later.status(JOB, "RUNNING", stranger_of(later))
    later.rebalance(after_ms=20_000)
    for results in (watched(record_is_never_read(), 90_000), record_is_never_read().fold(), later.fold()):
        (told, *_) = incidents(results, CODE)
        assert (told.severity, told.certainty) == (Severity.INFO, Certainty.POSSIBLE)
        assert "not judged: generation 2 has left no record" in told.message
