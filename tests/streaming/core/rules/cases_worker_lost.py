"""CONNECT-K21: one of several workers is lost and stays away."""

from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss
from tests.streaming.core.rules.cases_across import DELAY_MS
from tests.streaming.core.rules.cases_workers import rest

CODE = "CONNECT-K21"
END_MS = 900_000


def say_running(story: Story, *silent: str) -> Story:
    """Every worker but the silent ones writes that it runs all that it holds."""
    for worker in story.workers.values():
        for name in sorted(worker.holds() if worker.name not in silent else ()):
            story.status(name, "RUNNING", worker.name)
    return story


def three_workers(*silent: str) -> Story:
    story = Story.begun({"c1": 5}, "w1", "w2", "w3")
    story.wait(200)
    say_running(story, *silent)
    story.wait(30_000)
    return story


def lost(story: Story) -> Story:
    story.leave("w3")
    story.rebalance(after_ms=10_000)
    return story


def handed_out(story: Story) -> Story:
    """The delay is over: the others have what it held."""
    story.rebalance(after_ms=DELAY_MS + 1_000)
    story.wait(200)
    return say_running(story).until(END_MS)


def a_worker_was_killed() -> Story:
    return handed_out(lost(three_workers()))


def back_after_ten_minutes() -> Story:
    """People are told until then."""
    story = lost(three_workers())
    story.rebalance(after_ms=DELAY_MS + 1_000)
    say_running(story)
    story.join("w3")
    story.rebalance(after_ms=300_000)
    story.rebalance(after_ms=1_000)
    return say_running(story).until(END_MS)


def back_within_the_delay() -> Story:
    story = three_workers()
    story.leave("w3")
    story.rebalance(after_ms=10_000)
    story.join("w3")
    story.rebalance(after_ms=80_000)
    return handed_out(story)


def scaled_down() -> Story:
    story = three_workers()
    for name in sorted(story.workers["w3"].holds()):
        story.status(name, "UNASSIGNED", "w3")
    story.wait(1_000)
    story.leave("w3")
    story.rebalance(after_ms=500)
    return handed_out(story)


def another_one_came() -> Story:
    story = lost(three_workers())
    story.join("w4")
    story.rebalance(after_ms=60_000)
    return handed_out(story)


def never_said_anything() -> Story:
    return handed_out(lost(three_workers("w3")))


def nobody_left() -> Story:
    story = three_workers()
    rest(story, "c1")
    story.leave("w3")
    story.rebalance(after_ms=10_000)
    story.wait(20_000)
    story.empty()
    return story.until(END_MS)


CASES: tuple[Case, ...] = (
    Broken(
        code=CODE,
        story=a_worker_was_killed,
        subjects=("worker w3:8083",),
        severity=Severity.MEDIUM,
        says="1 of the group's 6 connectors and tasks (17 %) stood still because of it",
    ),
    Broken(
        code=CODE,
        story=back_after_ten_minutes,
        subjects=("worker w3:8083",),
        severity=Severity.MEDIUM,
        says="w3:8083 has been away since",
    ),
    NearMiss(code=CODE, exception="it comes back before the delay is over", story=back_within_the_delay),
    NearMiss(code=CODE, exception="it stopped its connectors and tasks before it went", story=scaled_down),
    NearMiss(code=CODE, exception="another worker comes instead", story=another_one_came),
    NearMiss(code=CODE, exception="nothing tells how it went", story=never_said_anything),
    NearMiss(code=CODE, exception="no worker is left: `all_workers_gone` says so", story=nobody_left),
)
