"""CONNECT-K19, failed connectors and tasks, and CONNECT-K20, tasks that fail and are restarted in a loop."""

from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_across import MINUTE_MS
from tests.streaming.core.rules.cases_status import JOB, all_running, owner_of

FAILED, LOOP = "CONNECT-K19", "CONNECT-K20"


def said(story: Story, *states: str | None, every_ms: int = 1_000) -> Story:
    """The holder of the task writes these states, one after the other."""
    for state in states:
        story.wait(every_ms)
        story.status(JOB, state, owner_of(story, JOB))
    return story


def a_task_has_failed() -> Story:
    return said(all_running(), "FAILED").until(20 * MINUTE_MS)


def a_connector_has_failed() -> Story:
    story = all_running()
    story.status("c1", "FAILED", owner_of(story, "c1"))
    return story.until(20 * MINUTE_MS)


def failed_before_and_restarted() -> Story:
    """What the rule finds ends with the restart, before people are told of it: seen here from its end on."""
    return said(all_running(), "RESTARTING", "UNASSIGNED", "RUNNING").until(20 * MINUTE_MS)


def deleted_after_it_stopped() -> Story:
    return said(all_running(), "UNASSIGNED", None).until(20 * MINUTE_MS)


def failed_where_it_was_before() -> Story:
    """The former owner's FAILED is written after another worker has the task."""
    story = all_running()
    first = owner_of(story, JOB)
    story.leave(first)
    story.rebalance(after_ms=10_000)
    story.wait(200)
    said(story, "RUNNING")
    story.wait(1_000)
    story.status(JOB, "FAILED", first, generation=1)
    return said(story, "RUNNING").until(20 * MINUTE_MS)


def held_by_another_now() -> Story:
    story = all_running()
    story.leave(owner_of(story, JOB))
    story.rebalance(after_ms=10_000)
    return said(story, "RUNNING").until(20 * MINUTE_MS)


def restarted_again_and_again() -> Story:
    return said(all_running(), *("FAILED", "RESTARTING", "RUNNING") * 4, every_ms=20_000)


def the_connector_was_restarted() -> Story:
    return said(all_running(), *("RESTARTING", "UNASSIGNED", "RUNNING") * 3, every_ms=20_000)


def rebalanced_again_and_again() -> Story:
    return said(all_running(), *("UNASSIGNED", "RUNNING") * 10)


def restarted_every_hour() -> Story:
    story = all_running()
    for _ in range(8):
        said(story, "RESTARTING", "RUNNING")
        story.wait(60 * MINUTE_MS)
    return story


def deleted_after_some_restarts() -> Story:
    story = said(all_running(), *("RESTARTING", "RUNNING") * 4, None)
    return said(story, *("RUNNING", "RESTARTING") * 3)


CASES: tuple[Case, ...] = (
    Broken(
        code=FAILED,
        story=a_task_has_failed,
        subjects=("task c1-0", "worker w1:8083"),
        severity=Severity.MEDIUM,
        says="task c1-0 has FAILED on w1:8083",
    ),
    Broken(
        code=FAILED, story=a_connector_has_failed, subjects=("connector c1", "worker w1:8083"), severity=Severity.MEDIUM
    ),
    NearMiss(code=FAILED, exception="restarted, and running again", story=failed_before_and_restarted),
    NearMiss(code=FAILED, exception="deleted", story=deleted_after_it_stopped),
    NearMiss(code=FAILED, exception="another worker holds it now", story=held_by_another_now),
    NearMiss(code=FAILED, exception="a former owner said so", story=failed_where_it_was_before),
    Broken(
        code=LOOP,
        story=restarted_again_and_again,
        subjects=("task c1-0",),
        severity=Severity.MEDIUM,
        along=frozenset({FAILED}),
    ),
    NearMiss(code=LOOP, exception="a restart of the connector", story=the_connector_was_restarted),
    NearMiss(code=LOOP, exception="a rebalance", story=rebalanced_again_and_again),
    NearMiss(code=LOOP, exception="restarts that lie far apart", story=restarted_every_hour),
    NearMiss(code=LOOP, exception="the task was deleted", story=deleted_after_some_restarts),
)
