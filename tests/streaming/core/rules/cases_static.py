"""Cases of the laws about static assignments, CONNECT-S1 to S11.

The usual group: connectors c1 and c2 with two tasks each, w1 and w2 without declarations, w3 declares c1-0 and c1-1.
"""

from dataclasses import replace

from rebalance_monitor.assignors.connect import incremental
from rebalance_monitor.streaming.core.model.results import Severity
from tests.streaming.core.rules.builders import Story
from tests.streaming.core.rules.cases import Broken, Case
from tests.streaming.core.rules.cases_record import broken, near, settled, swapped_answer
from tests.streaming.core.rules.edits import Change, both, drop, give, spare
from tests.streaming.core.rules.processes import Given, assignment_of, jobs

H, M, INFO = Severity.HIGH, Severity.MEDIUM, Severity.INFO
W1, W2, W3, W4 = (f"worker w{number}:8083" for number in range(1, 5))


def group(*declared: str, story: Story | None = None) -> Story:
    """Nothing assigned yet; w3 declares these jobs."""
    story = story or Story("static")
    story.configure("c1", 2)
    story.configure("c2", 2)
    settled(story).join("w1", "w2")
    if declared:
        story.join("w3", static=declared)
    return story


def placed(*declared: str) -> Story:
    """The same after a correct round."""
    story = group(*declared)
    story.rebalance()
    return story


def as_static(story: Story, **lists: tuple[str, ...]) -> Change:
    """The answer of a leader to whom these workers, and nobody else, declare these jobs."""

    def change(given: Given) -> None:
        round_ = story.round_of()
        members = tuple(
            replace(one, static=jobs(lists.get(name, ())))
            for name, one in zip(story.workers, round_.members, strict=True)
        )
        leading = story.workers[story.leader or ""]
        result, leading.memory = incremental.assign(
            story.before, replace(round_, protocol="static", members=members), max_delay_ms=300_000, era=story.era
        )
        version = {name: one.version for name, one in given.items() if not isinstance(one, bytes)}
        for name, worker in story.workers.items():
            given[name] = replace(assignment_of(result, worker.member_id), version=version[name])

    return change


def taken_for_its_lister_and_not_given() -> Story:
    """w3 declares what others run: taken from them in its first round, and forgotten in the second."""
    story = placed()
    story.join("w3", static=("c1-0",))
    story.rebalance()
    story.rebalance(drop("w3", "c1-0"))
    return story


def wildcard_job_taken_and_not_given() -> Story:
    story = Story("static")
    story.configure("c1", 6)
    story.join("w1")
    story.join("w2", static=("c1-0",))
    story.rebalance()
    story.join("w3")
    before = story.workers["w1"].holds()
    story.rebalance()
    taken = sorted(before - story.workers["w1"].holds())
    story.rebalance(drop("w3", taken[0]))
    return story


def static_job_to_wildcard_worker() -> Story:
    story = group("c1-0", "c1-1")
    story.rebalance(both(drop("w3", "c1-0"), give("w1", "c1-0")))
    return story


def static_job_to_another_lister() -> Story:
    story = group("c1-0")
    story.join("w4", static=["c1-1"])
    story.rebalance(both(drop("w3", "c1-0"), give("w4", "c1-0")))
    return story


def wildcard_job_to_static_worker() -> Story:
    story = group("c1-0")
    story.rebalance(both(drop("w2", "c2"), give("w3", "c2")))
    return story


def misplaced_job_left_alone() -> Story:
    """w3 joins and declares c1-0, which w1 has: it must be taken away at once."""
    story = placed()
    story.join("w3", static=["c1-0"])
    story.rebalance(spare("w1", "c1-0"))
    return story


def declared_job_dropped() -> Story:
    story = group("c1-0", "c1-1")
    story.rebalance(drop("w3", "c1-0"))
    return story


def declared_job_delayed() -> Story:
    """Its lister is lost while another lister is there: no delay for this job, but for the rest of the lost."""
    story = placed()
    story.join("w3", static=["c1-0"])
    story.rebalance()
    return story


def wildcard_job_dropped() -> Story:
    story = group("c1-0", "c1-1")
    story.rebalance(drop("w1", "c2-0"))
    return story


def wildcard_worker_lost() -> Story:
    story = placed("c1-0")
    story.leave("w2")
    story.rebalance()
    return story


def new_wildcard_worker() -> Story:
    story = Story("static")
    story.configure("c1", 8)
    settled(story).join("w1", "w2")
    story.join("w3", static=["c1-0"])
    story.rebalance()
    story.join("w4")
    story.rebalance()
    return story


def only_static_workers_left() -> Story:
    story = placed("c1-0")
    story.leave("w1")
    story.leave("w2")
    story.rebalance()
    story.rebalance(after_ms=300_100)
    return story


def only_static_workers_wait() -> Story:
    story = placed("c1-0")
    story.leave("w1")
    story.leave("w2")
    story.rebalance()
    return story


def idle_while_waiting() -> Story:
    story = placed()
    story.leave("w2")
    story.rebalance()
    story.join("w3", static=["c9-0"])
    story.rebalance()
    return story


def lopsided_wildcards() -> Story:
    story = Story("static")
    story.configure("c1", 5)
    settled(story).join("w1", "w2")
    story.join("w3", static=["c1-4"])
    story.rebalance(both(drop("w2", "c1-1"), give("w1", "c1-1")))
    return story


def ghosts() -> Story:
    story = Story("static")
    story.configure("c1", 6)
    settled(story).join("w1", "w2")
    story.join("w3", static=["c9"])
    story.rebalance()
    story.delete("c1")
    settled(story).join("w4")
    story.rebalance(leader="w4")
    return story


def connector_and_its_task() -> Story:
    story = Story("static")
    story.configure("c1", 1)
    settled(story).join("w1", "w2")
    story.join("w3", static=["c9"])
    story.rebalance()
    return story


def missing_declarer_counted_in() -> Story:
    """w3 declares only what does not exist; the leader takes it for a wildcard worker and makes room for it."""
    story = Story("static")
    story.configure("c1", 6)
    settled(story).join("w1", "w2")
    story.rebalance()
    story.join("w3", static=["c9"])
    story.rebalance(as_static(story))
    return story


def missing_declarer_works() -> Story:
    story = group("c9-0")
    story.rebalance(both(drop("w2", "c2"), give("w3", "c2")))
    return story


def downgraded_but_obeyed() -> Story:
    """The group fell back to sessioned, and its leader still goes by what w3 declared."""
    story = placed("c1-0", "c3", "c3-0")
    story.protocol = "sessioned"
    story.configure("c3", 2)
    settled(story).rebalance(as_static(story, w3=("c1-0", "c3", "c3-0")))
    return story


def newer_blob_obeyed() -> Story:
    """The group never spoke static; w3 sends its declarations all the same, and the leader reads them."""
    story = group("c1-0", story=Story("sessioned"))
    story.workers["w3"].speaks = "static"
    story.rebalance(as_static(story, w3=("c1-0",)))
    return story


def newer_blob_ignored() -> Story:
    story = group("c1-0", story=Story("sessioned"))
    story.workers["w3"].speaks = "static"
    story.rebalance()
    return story


def listed_twice_and_dropped() -> Story:
    story = group("c1-0")
    story.join("w4", static=["c1-0"])
    story.rebalance(drop("w3", "c1-0"))
    return story


def listed_twice_and_revoked() -> Story:
    story = placed()
    story.join("w3", static=["c1-0"])
    story.join("w4", static=["c1-0"])
    story.rebalance()
    return story


def the_other_lister() -> Story:
    story = group("c1-0")
    story.join("w4", static=["c1-0"])
    story.rebalance(both(drop("w3", "c1-0"), give("w4", "c1-0")))
    return story


def static_without_declarations() -> Story:
    story = group()
    story.rebalance(swapped_answer("w1", "c1-0", "w2", "c1-1"))
    return story


CASES: tuple[Case, ...] = (
    broken("S1", static_job_to_wildcard_worker, H, "task c1-0", W1, says="w3:8083 declares it"),
    broken("S2", static_job_to_another_lister, H, "task c1-0", W4),
    broken("S3", wildcard_job_to_static_worker, H, "connector c2", W3),
    Broken(
        code="CONNECT-S4",
        story=misplaced_job_left_alone,
        severity=H,
        subjects=("task c1-0", W1),
        along=frozenset({"CONNECT-S1"}),
    ),
    broken("S5", declared_job_dropped, H, "task c1-0"),
    broken("S5", taken_for_its_lister_and_not_given, H, "task c1-0"),
    near("S5", "revoked in this rebalance", declared_job_delayed),
    broken("S6", wildcard_job_dropped, M, "task c2-0"),
    near("S6", "revoked in this rebalance", new_wildcard_worker),
    near("S6", "lost, and the delay runs", wildcard_worker_lost),
    near("S6", "no worker without declarations is there: info", only_static_workers_left, INFO),
    broken("S7", lopsided_wildcards, M, W1, W2),
    near("S7", "revocations are under way", new_wildcard_worker),
    near("S7", "a delay or back-off runs", idle_while_waiting),
    near("S7", "a worker holds a connector or task that is no longer configured", ghosts),
    near("S7", "connectors and tasks together may differ by two", connector_and_its_task),
    broken("S8", missing_declarer_works, H, W3),
    broken("S8", missing_declarer_counted_in, H, W3, says="should idle"),
    broken("S9", downgraded_but_obeyed, H, W1),
    broken("S9", newer_blob_obeyed, H, W1, says="followed the declarations of w3:8083"),
    broken("S10", listed_twice_and_dropped, H, "task c1-0"),
    near("S10", "revoked in this rebalance", listed_twice_and_revoked),
    near("S10", "any worker that declares it will do", the_other_lister),
    broken("S11", static_without_declarations, H, W1),
    broken("K15", wildcard_job_taken_and_not_given, H, "task c1-1"),
)
