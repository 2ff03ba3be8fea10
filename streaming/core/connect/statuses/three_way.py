"""One job, three ways: assigned (group records), expected (recomputed), running (status topic).

ok            its holder has taken it up (running, paused or stopped there)
failed        its holder has taken it up, and it has failed there
unexpected    the recomputed assignment puts it elsewhere
elsewhere     another worker says that it runs it
held_twice    several workers hold it
not_started   its holder has not taken it up yet
unassigned    nobody holds it
unknown       held, and the status topic has never told of it
"""

from rebalance_monitor.streaming.core.connect.statuses.facts import FAILED, RUNNING, JobFacts, JobKey
from rebalance_monitor.streaming.core.connect.statuses.situation import ChangedJob, Situation
from rebalance_monitor.streaming.core.model.results import JobState
from rebalance_monitor.streaming.core.model.subjects import subject_of


def states(now: Situation) -> None:
    """Publish every job that this call touched, as it stands now. What came and went before a generation was known was
    never published."""
    for job, standing in sorted(now.touched.items()):
        gone = standing.facts.nobodys
        if not gone or standing.known or job in now.before:
            word = "gone" if gone else agreement(standing.facts, judged=standing.judged)
            now.outputs.append(row_of(now, job, standing, word))
    now.touched.clear()


def row_of(now: Situation, job: JobKey, standing: ChangedJob, agreement: str) -> JobState:
    """The row of one job."""
    facts, judged = standing.facts, standing.judged
    shown = facts.shown
    expected = facts.expected or (facts.holders[0] if len(facts.holders) == 1 else None)
    return JobState(
        cluster=now.settings.name,
        group=now.view.group,
        job=subject_of(job),
        incarnation=standing.incarnation,
        generation=standing.generation,
        assigned=facts.holders,
        expected=(None if expected == NOWHERE else expected) if judged else None,
        judged=judged,
        state=shown.state if shown is not None else None,
        running=shown.worker if shown is not None else None,
        running_generation=shown.generation if shown is not None else None,
        running_at_ms=shown.at_ms if shown is not None else None,
        since_ms=facts.since_ms if facts.holders else None,
        agreement=agreement,
        gone=agreement == "gone",
    )


NOWHERE = "-"
"""Expected to be in nobody's hands although somebody has it. No worker id looks so: they hold a colon."""


def agreement(facts: JobFacts, *, judged: bool) -> str:
    """The worst that can be said of the three."""
    shown = facts.shown
    if judged and facts.expected is not None and facts.holders != (facts.expected,):
        return "unexpected"
    if len(facts.holders) > 1:
        return "held_twice"
    if shown is not None and shown.state == RUNNING and facts.holders and shown.worker not in facts.holders:
        return "elsewhere"
    if not facts.holders:
        return "unassigned"
    if shown is None:
        return "unknown"
    if not facts.started:
        return "not_started"
    return "failed" if shown.state == FAILED else "ok"
