"""K2 to K4: what workers say they run, against what the group's records give them."""

from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case, NearMiss

JOB = "c1-0"


def owners() -> Story:
    """w1 leads; w1 and w2 share c1 and its two tasks. No delay: what is lost is handed out at once."""
    story = Story(max_delay_ms=0)
    story.configure("c1", 2)
    story.join("w1", "w2")
    story.rebalance()
    story.wait(200)
    return story


def owner_of(story: Story, name: str) -> str:
    return next(worker.name for worker in story.workers.values() if name in worker.holds())


def handed_on() -> tuple[Story, str, str]:
    """The first owner of the job is gone without a word, and the other one has started it: story, first, second."""
    story = owners()
    first = owner_of(story, JOB)
    story.status(JOB, "RUNNING", first)
    story.wait(2_000)
    story.leave(first)
    story.rebalance(after_ms=10_000)
    second = owner_of(story, JOB)
    story.wait(200)
    story.status(JOB, "RUNNING", second)
    return story, first, second


def runs_on_after_its_successor_started() -> Story:
    story, first, _ = handed_on()
    story.wait(6_000)
    story.status(JOB, "RUNNING", first, generation=1)
    return story


def first_worker_was_killed() -> Story:
    story, _, _ = handed_on()
    return story.until(80_000)


def late_write_of_the_former_owner() -> Story:
    story, first, _ = handed_on()
    story.wait(1_000)
    story.status(JOB, "RUNNING", first, generation=1)
    return story


def stop_stamped_by_a_clock_ahead() -> Story:
    story, first, _ = handed_on()
    story.wait(4_000)
    story.status(JOB, "UNASSIGNED", first, generation=1)
    return story


def all_nodes_share_one_id() -> Story:
    story = owners()
    story.status(JOB, "RUNNING", "a->b")
    story.wait(2_000)
    story.rebalance()
    story.status(JOB, "RUNNING", "a->b")
    return story.until(30_000)


def runs_what_another_holds() -> Story:
    story = owners()
    story.status(JOB, "RUNNING", next(one for one in story.workers if one != owner_of(story, JOB)))
    return story.until(20_000)


def revoked_while_it_starts() -> Story:
    story = owners()
    story.join("w3")
    story.configure("c2", 2)
    story.rebalance()
    stranger = next(one for one in story.workers if one != owner_of(story, JOB))
    story.status(JOB, "RUNNING", stranger)
    story.wait(3_000)
    story.status(JOB, "UNASSIGNED", stranger)
    return story.until(20_000)


def downgraded_to_eager() -> Story:
    story = owners()
    story.protocol = "default"
    story.rebalance(leader="w2" if story.leader == "w1" else "w1")
    stranger = next(one for one in story.workers if one != owner_of(story, JOB))
    story.now_ms -= 400
    story.status(JOB, "RUNNING", stranger)
    story.now_ms += 400
    return story.until(20_000)


def all_running() -> Story:
    """Both workers have said of everything they hold that it runs."""
    story = owners()
    for worker in story.workers.values():
        for name in sorted(worker.holds()):
            story.status(name, "RUNNING", worker.name)
    return story


def downgraded_with_all_running() -> Story:
    """The first eager generation restarts nothing: of what stays where it was, nobody writes another status."""
    story = all_running()
    before = {worker.name: worker.holds() for worker in story.workers.values()}
    story.protocol = "default"
    story.rebalance()
    kept = 0
    for worker in story.workers.values():
        for name in sorted(worker.holds()):
            kept += name in before[worker.name]
            if name not in before[worker.name]:
                story.status(name, "RUNNING", worker.name)
    assert kept
    return story.until(120_000)


def eager_for_a_second_generation() -> Story:
    """The second one restarts everything: w2 says so, w1 says nothing."""
    story = downgraded_with_all_running()
    story.rebalance()
    for name in sorted(story.workers["w2"].holds()):
        story.status(name, "RUNNING", "w2")
    return story.until(120_000)


def downgraded_when_a_worker_left() -> Story:
    """What the survivor takes over is new to it: that it must start."""
    story = all_running()
    story.leave("w2")
    story.protocol = "default"
    story.rebalance()
    return story.until(120_000)


def record_comes_after_the_status() -> Story:
    story = owners()
    first = owner_of(story, JOB)
    second = next(one for one in story.workers if one != first)
    story.status(JOB, "RUNNING", second, generation=2)
    story.leave(first)
    story.rebalance(after_ms=3_000)
    return story.until(20_000)


def record_comes_long_after_the_status() -> Story:
    """The first owner is gone; its successor says that it runs the job long before the record that gives it to it."""
    story = owners()
    first = owner_of(story, JOB)
    second = next(one for one in story.workers if one != first)
    story.status(JOB, "RUNNING", second, generation=2)
    story.leave(first)
    story.rebalance(after_ms=45_000)
    return story.until(20_000)


def runs_what_a_late_record_gives_to_another() -> Story:
    story = owners()
    stranger = next(one for one in story.workers if one != owner_of(story, JOB))
    story.status(JOB, "RUNNING", stranger, generation=2)
    story.rebalance(after_ms=45_000)
    return story.until(12_000)


def runs_what_a_late_record_gives_to_another_before_it_is_known() -> Story:
    """The stranger is new in the generation whose record comes late."""
    story = owners()
    story.status(JOB, "RUNNING", "w3", generation=2)
    story.join("w3")
    story.rebalance(after_ms=45_000)
    return story.until(12_000)


def record_is_never_read() -> Story:
    """The job was given to its worker in a generation whose record is lost."""
    story = owners()
    first = owner_of(story, JOB)
    story.leave(first)
    story.rebalance(recorded=False, after_ms=3_000)
    story.status(JOB, "RUNNING", owner_of(story, JOB))
    return story.until(20_000)


def started_before_it_was_taken() -> Story:
    story, first, second = handed_on()
    story.join(first)
    story.rebalance()
    story.status(JOB, "RUNNING", second, generation=1)
    return story.until(20_000)


def gives_no_sign_of_starting() -> Story:
    story = owners()
    busy = owner_of(story, JOB)
    for name in sorted(story.workers[busy].holds()):
        story.status(name, "RUNNING", busy)
    return story.until(70_000)


def connector_is_paused() -> Story:
    story = owners()
    story.status("c1", "PAUSED", owner_of(story, "c1"))
    return story.until(70_000)


def reads_the_configuration_late() -> Story:
    story = owners()
    for name, worker in story.workers.items():
        for held in sorted(worker.holds()):
            story.status(held, "RUNNING", name)
    other = next(one for one in story.workers if one != story.leader)
    story.workers[other].reads_until = len(story.snapshots) - 1
    story.configure("c2", 2)
    story.rebalance()
    leading = story.workers[story.leader or ""]
    for held in sorted(leading.holds()):
        story.status(held, "RUNNING", leading.name)
    return story.until(70_000)


def nobody_can_be_told_apart() -> Story:
    story = owners()
    story.status(JOB, "RUNNING", "a->b")
    return story.until(70_000)


CASES: list[Case] = [
    Broken(
        code="CONNECT-K2",
        story=runs_on_after_its_successor_started,
        subjects=("task c1-0", "worker w1:8083", "worker w2:8083"),
        severity=Severity.CRITICAL,
        says="twice, on w1:8083 and w2:8083",
    ),
    NearMiss(
        code="CONNECT-K2",
        exception="the first worker died or was cut off",
        story=first_worker_was_killed,
        at_most=Severity.INFO,
    ),
    NearMiss(
        code="CONNECT-K2",
        exception="status writes out of order",
        story=late_write_of_the_former_owner,
        at_most=Severity.INFO,
    ),
    NearMiss(
        code="CONNECT-K2",
        exception="a clock that runs ahead",
        story=stop_stamped_by_a_clock_ahead,
        at_most=Severity.INFO,
    ),
    NearMiss(
        code="CONNECT-K2",
        exception="MirrorMaker's dedicated mode, where all workers have one id",
        story=all_nodes_share_one_id,
    ),
    Broken(
        code="CONNECT-K3",
        story=runs_what_another_holds,
        subjects=("task c1-0", "worker w2:8083"),
        severity=Severity.HIGH,
        says="held by w1:8083",
    ),
    NearMiss(code="CONNECT-K3", exception="it was just revoked", story=revoked_while_it_starts),
    NearMiss(
        code="CONNECT-K3",
        exception="the first eager generation after a cooperative one",
        story=downgraded_to_eager,
    ),
    NearMiss(
        code="CONNECT-K4",
        exception="the first eager generation after a cooperative one, for what stays where it was",
        story=downgraded_with_all_running,
    ),
    Broken(
        code="CONNECT-K4",
        story=eager_for_a_second_generation,
        subjects=("connector c1", "task c1-1", "worker w1:8083"),
        severity=Severity.MEDIUM,
        along=frozenset({"CONNECT-K2"}),  # what moved in the first one runs on where it was
        says="has not taken them up",
    ),
    Broken(
        code="CONNECT-K4",
        story=downgraded_when_a_worker_left,
        subjects=("task c1-1", "worker w1:8083"),
        severity=Severity.MEDIUM,
        says="has not taken it up",
    ),
    NearMiss(
        code="CONNECT-K3",
        exception="the record of that generation is not read yet",
        story=record_comes_after_the_status,
    ),
    Broken(
        code="CONNECT-K3",
        story=runs_what_a_late_record_gives_to_another,
        subjects=("task c1-0", "worker w2:8083"),
        severity=Severity.HIGH,
        says="held by w1:8083",
    ),
    Broken(
        code="CONNECT-K3",
        story=runs_what_a_late_record_gives_to_another_before_it_is_known,
        subjects=("task c1-0", "worker w3:8083"),
        severity=Severity.HIGH,
        says="held by w1:8083",
    ),
    NearMiss(
        code="CONNECT-K3",
        exception="the record of that generation is not read yet",
        story=record_comes_long_after_the_status,
        at_most=Severity.INFO,
    ),
    NearMiss(
        code="CONNECT-K3",
        exception="the record of that generation is not read yet",
        story=record_is_never_read,
        at_most=Severity.INFO,
    ),
    NearMiss(code="CONNECT-K3", exception="a status of an earlier generation", story=started_before_it_was_taken),
    Broken(
        code="CONNECT-K4",
        story=gives_no_sign_of_starting,
        subjects=("task c1-1", "worker w2:8083"),
        severity=Severity.MEDIUM,
        says="has not taken it up",
    ),
    NearMiss(code="CONNECT-K4", exception="the connector is paused or stopped", story=connector_is_paused),
    NearMiss(
        code="CONNECT-K4",
        exception="the worker has not read the configuration yet",
        story=reads_the_configuration_late,
    ),
    NearMiss(
        code="CONNECT-K4", exception="workers' statuses have no address of their own", story=nobody_can_be_told_apart
    ),
]
