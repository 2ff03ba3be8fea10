"""Cases of the rules about what a group holds and what it waits for: CONNECT-K1, K5 to K9 and K14."""

from rebalance_monitor.assignors.connect.model import Jobs
from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, NearMiss
from tests.streaming.core.rules.edits import everyone
from tests.streaming.core.rules.processes import Given

MINUTE_MS = 60_000
DELAY_MS = 300_000
PATIENCE_MS = 70_000


def calm(*workers: str, tasks: int = 4) -> Story:
    """One connector, everything handed out, everybody has applied it."""
    story = Story()
    story.configure("c1", tasks)
    story.join(*(workers or ("w1", "w2")))
    story.rebalance()
    story.rebalance()
    return story


def departure(*, after_ms: int = 10_000) -> Story:
    """w3 is gone, its jobs wait for it: a window of DELAY_MS is open."""
    story = calm("w1", "w2", "w3", tasks=6)
    story.leave("w3")
    story.rebalance(after_ms=after_ms)
    return story


# -- K1 ----------------------------------------------------------------------------------------------------------------


def a_job_vanished_from_a_report() -> Story:
    story = calm()
    worker = story.workers["w2"]
    worker.held = Jobs(worker.held.connectors, worker.held.tasks[1:])
    story.rebalance()
    return story


def kept_what_it_was_told_to_stop() -> Story:
    """It has applied the answer, as the config offset in its report's header shows, but not the revocation in it."""
    story = Story()
    story.configure("c1", 4)
    story.configure("c2")
    story.join("w1", "w2")
    story.rebalance()
    story.rebalance()
    story.join("w3")
    story.configure("c3")
    kept = story.workers["w2"].held
    story.rebalance()
    story.workers["w2"].held = kept
    story.rebalance()
    return story


def missed_a_revocation() -> Story:
    story = calm()
    story.join("w3")
    story.rebalance(missed=("w2",))
    for _ in range(3):
        story.rebalance()
    return story


def gave_up_everything() -> Story:
    story = calm()
    worker = story.workers["w2"]
    worker.held, worker.header = Jobs(), None
    story.rebalance()
    return story


def missed_the_last_eager_answer() -> Story:
    story = Story("default")
    story.configure("c1", 3)
    story.join("w1", "w2")
    story.rebalance()
    story.configure("c2", 2)
    story.rebalance(missed=("w2",))
    story.protocol = "sessioned"
    story.rebalance()
    return story


def missed_the_answer() -> Story:
    story = calm()
    story.configure("c2", 2)
    story.rebalance(missed=("w2",))
    story.rebalance()
    return story


def changed_in_unseen_generations() -> Story:
    story = calm()
    worker = story.workers["w2"]
    worker.held = Jobs(worker.held.connectors, worker.held.tasks[1:])
    story.skip(2)
    story.rebalance()
    return story


# -- K5 ----------------------------------------------------------------------------------------------------------------


def never_handed_out_after_the_delay() -> Story:
    story = departure()
    story.rebalance(drop_given, after_ms=DELAY_MS + 1_000)
    return story.until(10 * MINUTE_MS)


def drop_given(given: Given) -> None:
    """Hand out nothing at all."""
    everyone(connectors=(), tasks=())(given)


def another_departure_opened_a_new_window() -> Story:
    """The candidate that got the lost jobs left before that generation could be recorded."""
    story = calm("w1", "w2", "w3", "w4", tasks=8)
    story.leave("w3")
    story.rebalance(after_ms=10_000)
    story.leave("w4")
    story.skip(1)
    story.rebalance(everyone(delay_ms=DELAY_MS), after_ms=DELAY_MS - 20_000)
    return story.until(DELAY_MS)


def taken_back_from_a_candidate() -> Story:
    story = calm("w1", "w2", "w3", tasks=7)
    story.leave("w2")
    story.leave("w3")
    story.rebalance(after_ms=10_000)
    story.join("w4")
    story.rebalance(after_ms=10_000)
    story.rebalance(after_ms=DELAY_MS)
    story.rebalance(after_ms=PATIENCE_MS)
    return story.until(1_000)


def nobody_is_left() -> Story:
    story = departure()
    story.empty()
    return story.until(20 * MINUTE_MS)


def its_only_declaring_worker_is_gone() -> Story:
    """Every worker declares what it runs; one of them goes away for good."""
    story = Story("static")
    story.configure("c1", 2)
    story.join("w1", static=["c1-0"])
    story.join("w2", static=["c1", "c1-1"])
    story.rebalance()
    story.leave("w1")
    story.rebalance()
    story.rebalance(after_ms=300_100)
    return story.until(3_600_000)


def nobody_may_run_it() -> Story:
    story = Story("static")
    story.configure("c1", 1)
    story.join("w1", static=("c1",))
    story.rebalance()
    return story.until(20 * MINUTE_MS)


# -- K6, K8, K14 -------------------------------------------------------------------------------------------------------


def a_newcomer_left_after_a_revoking_round() -> Story:
    """The leader opens a full delay although nothing is lost (an inheritance of the assignor)."""
    story = calm()
    story.join("w3")
    story.rebalance()
    story.leave("w3")
    story.rebalance()
    return story


def nothing_came_after_the_delay() -> Story:
    return a_newcomer_left_after_a_revoking_round().until(DELAY_MS + PATIENCE_MS)


def the_group_emptied_during_the_delay() -> Story:
    story = departure()
    story.empty()
    return story.until(20 * MINUTE_MS)


def pause_between_revoking_rounds() -> Story:
    """Two newcomers one after the other: the second revoking round waits 40 ms."""
    story = Story()
    for name in ("c1", "c2"):
        story.configure(name, 4)
    story.join("w1")
    story.rebalance()
    story.join("w2")
    story.rebalance()
    story.join("w3")
    story.rebalance(after_ms=500)
    return story


def nobody_handed_out_what_was_taken() -> Story:
    story = calm()
    story.join("w3")
    story.rebalance()
    return story.until(PATIENCE_MS)


def the_group_emptied_after_a_revocation() -> Story:
    story = calm()
    story.join("w3")
    story.rebalance()
    story.empty()
    return story.until(20 * MINUTE_MS)


INFO, MEDIUM, HIGH = Severity.INFO, Severity.MEDIUM, Severity.HIGH
W2 = "worker w2:8083"
CASES = (
    Broken(code="CONNECT-K1", story=a_job_vanished_from_a_report, subjects=(W2,), severity=MEDIUM, says="lacks c1-"),
    Broken(code="CONNECT-K1", story=kept_what_it_was_told_to_stop, subjects=(W2,), severity=MEDIUM, says="still has"),
    NearMiss(code="CONNECT-K1", exception="it gave up everything: no allocation", story=gave_up_everything),
    NearMiss(
        code="CONNECT-K1", exception="it missed the answer and reports what it had before", story=missed_a_revocation
    ),
    NearMiss(
        code="CONNECT-K1", exception="it missed the answer and reports what it had before", story=missed_the_answer
    ),
    NearMiss(
        code="CONNECT-K1",
        exception="it missed the answer and reports what it had before",
        story=missed_the_last_eager_answer,
    ),
    NearMiss(code="CONNECT-K1", exception="generations are missing between", story=changed_in_unseen_generations),
    Broken(
        code="CONNECT-K5",
        story=never_handed_out_after_the_delay,
        subjects=("task c1-2", "task c1-5"),
        severity=HIGH,
        along=frozenset({"CONNECT-I4"}),
    ),
    NearMiss(
        code="CONNECT-K5",
        exception="another departure opened a new window",
        story=another_departure_opened_a_new_window,
    ),
    NearMiss(
        code="CONNECT-K5",
        exception="taken back from a delay candidate, which starts its wait anew",
        story=taken_back_from_a_candidate,
    ),
    NearMiss(
        code="CONNECT-K5", exception="the group has no member at all: `all_workers_gone` says so", story=nobody_is_left
    ),
    Broken(
        code="CONNECT-K5",
        story=nobody_may_run_it,
        subjects=("task c1-0",),
        severity=HIGH,
        says="no worker may run it: nobody declares it, and every worker in the group runs only what it declares",
    ),
    Broken(
        code="CONNECT-K5",
        story=its_only_declaring_worker_is_gone,
        subjects=("task c1-0",),
        severity=HIGH,
        says="no worker may run it: w1:8083 declared it and left the group",
    ),
    Broken(code="CONNECT-K6", story=nothing_came_after_the_delay, subjects=("group g",), severity=HIGH),
    NearMiss(code="CONNECT-K6", exception="the group emptied", story=the_group_emptied_during_the_delay),
    Broken(code="CONNECT-K8", story=a_newcomer_left_after_a_revoking_round, subjects=("group g",), severity=INFO),
    NearMiss(
        code="CONNECT-K8", exception="the pause between two rebalances that revoke", story=pause_between_revoking_rounds
    ),
    Broken(
        code="CONNECT-K14",
        story=nobody_handed_out_what_was_taken,
        subjects=("task c1-1",),
        severity=HIGH,
    ),
    NearMiss(code="CONNECT-K14", exception="the group emptied", story=the_group_emptied_after_a_revocation),
)
