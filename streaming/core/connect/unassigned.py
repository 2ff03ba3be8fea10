"""CONNECT-K5: configured jobs that nobody holds for longer than the delay and both time-outs together.

Each job without holder is remembered with the time of the record that first showed it so. The timer runs on the
group's own records and, when none comes, on the cluster's clock; jobs that began to wait together share one incident.

    10:00:00  worker lost, delay 300 s, time-outs 60 s + 10 s   task a-1 waits since 10:00:00
    10:05:00  generation 8 hands a-1 out                        nothing is left, nothing was reported
    10:06:10  no such generation                                unassigned_too_long opens: 370 s are over

Under protocol `static` a job may be one that no member may run: nobody in the group declares it, and every member
declares others. No rebalance places it, so it waits for a worker to come; the timer is the same, the message differs.
"""

from collections.abc import Callable, Collection, Iterator

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.leader.hypotheses import longest_delay_ms
from rebalance_monitor.streaming.core.connect.rules.catalogue_across import UNASSIGNED_TOO_LONG
from rebalance_monitor.streaming.core.connect.rules.memory import Window
from rebalance_monitor.streaming.core.connect.rules.window import CLOCK_SLACK_MS
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.transitions import PartKey
from rebalance_monitor.streaming.core.model.messages import utc
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Part, Severity, Subject
from rebalance_monitor.streaming.core.model.subjects import subject_of
from .intent import declared_by
from .observed import ConnectorOrTask, Observed, job_key, job_name, subjects_of
from .state import ConnectState
from .topic_names import connect_settings

WithoutHolder = tuple[Subject, ...]
SHOWN = 3
"""Absent workers that a message names before it only counts them."""


def without_holder(observed: Observed, configured: frozenset[ConnectorOrTask]) -> WithoutHolder:
    """Jobs that are configured and in nobody's hands after the round, sorted."""
    return subjects_of(configured - observed.hands())


def without_worker(
    body: GroupGeneration, waits: WithoutHolder, configured: frozenset[ConnectorOrTask]
) -> frozenset[str]:
    """Keys of the waiting jobs that no member may run: every member declares jobs (protocol `static`), and none of them
    declares these. No rebalance among these members places them, with or without a delay."""
    lists = declared_by(body)
    if not lists or len(lists) < len(body.members):
        return frozenset()
    listed = frozenset(job_name(job) for jobs in lists.values() for job in jobs & configured)
    return frozenset(one.key for one in waits if one.id not in listed)


def noted(
    view: GroupView,
    state: ConnectState,
    row: Row,
    waits: WithoutHolder,
    *,
    nobody_may_run: frozenset[str],
    observed: Observed,
    before: Observed | None,
    window: Window | None,
) -> tuple[ConnectState, tuple[PartKey, ...]]:
    """Keep since when each job waits; and the keys of the incidents whose jobs all have a holder again.

    `nobody_may_run` are keys of the jobs that no member may run. `before` is the record before, `window` the delay that
    it announced.
    """
    anew = _start_anew(observed, before, window)
    since = {
        one.key: row.timestamp_ms if anew(one.id) else state.unassigned_since_ms.get(one.key, row.timestamp_ms)
        for one in waits
    }
    delay_ms = longest_delay_ms(connect_settings(view.settings, view.group), observed)
    if state.waits.open is not None:  # the leader's own maximum counts, and may be another one than is known
        delay_ms = max(delay_ms, state.waits.open.delay_ms)
    over = tuple(key for key, incident in _open(view) if not any(subject.key in since for subject in incident.subjects))
    patience_ms = delay_ms + state.timeouts_ms
    if since.keys() & state.unassigned_since_ms.keys():
        patience_ms = max(patience_ms, state.patience_ms)
    after = replace(state, unassigned_since_ms=since, patience_ms=patience_ms)
    return replace(after, nobody_may_run=nobody_may_run), over


def without_evidence(
    view: GroupView, state: ConnectState, observed: Observed, *, unsure: bool
) -> tuple[ConnectState, tuple[PartKey, ...]]:
    """What can be said where not everything is known: who is held waits no longer. `unsure`: any job may be in hands
    that nobody sees, or be unknown to the leader; then nobody can tell how long it waits."""
    held = {job_key(job) for one in observed.views.values() for job in one.holds}
    since = {} if unsure else {key: at for key, at in state.unassigned_since_ms.items() if key not in held}
    over = tuple(key for key, incident in _open(view) if held.issuperset(one.key for one in incident.subjects))
    return replace(state, unassigned_since_ms=since), over


def _open(view: GroupView) -> Iterator[tuple[PartKey, Part]]:
    return ((key, one) for key, one in view.open().items() if one.code == UNASSIGNED_TOO_LONG.code)


def _start_anew(observed: Observed, before: Observed | None, window: Window | None) -> Callable[[str], bool]:
    """Which jobs begin to wait with this record although they waited before.

    All, if another departure has opened a new window; and those taken back from a delay candidate in this round.
    """
    taken_back = {job_name(job) for view in observed.views.values() for job in view.revoked - view.held}
    end_ms = observed.at_ms + observed.delay_ms
    departed = before is not None and bool(before.views.keys() - observed.views.keys())
    later = window is not None and end_ms > window.latest_end_ms + CLOCK_SLACK_MS
    reopened = bool(observed.delay_ms) and departed and later
    return lambda name: reopened or name in taken_back


def unreported(view: GroupView, state: ConnectState) -> Iterator[int]:
    """Since when each waiting job has waited, of those no open incident names yet."""
    reported = {
        subject.key
        for _, incident in _open(view)
        if incident.severity is not Severity.INFO
        for subject in incident.subjects
    }
    return (since for key, since in state.unassigned_since_ms.items() if key not in reported)


def due_ms(view: GroupView, state: ConnectState) -> int | None:
    """When the next job will have waited too long. Nobody knows after a record that could not be read."""
    if went_on_unread(view, state):
        return None
    return min((since + state.patience_ms for since in unreported(view, state)), default=None)


def late(view: GroupView, state: ConnectState, at_ms: int) -> list[Finding]:
    """One finding for each set of jobs that has waited too long at this time and is in no incident yet."""
    return [finding for _, findings in _late(view, state, at_ms) for finding in findings]


def _late(view: GroupView, state: ConnectState, at_ms: int) -> Iterator[tuple[int, tuple[Finding, ...]]]:
    """These findings, and when each set had waited too long."""
    last = state.last
    if last is not None and not went_on_unread(view, state):
        for since_ms in sorted({one for one in unreported(view, state) if one + state.patience_ms <= at_ms}):
            yield since_ms + state.patience_ms, tuple(_findings(state, last, since_ms))


def doubted(view: GroupView, state: ConnectState, idle: WithoutHolder, at_ms: int) -> list[Finding]:
    """Jobs that wait at a record and at the one before it, too long in between if no unseen generation placed them."""
    still = frozenset(idle)
    found = []
    for finding in late(view, state, at_ms):
        subjects = tuple(subject for subject in finding.subjects if subject in still)
        if subjects:
            message = (
                f"{len(subjects)} configured connectors and tasks without holder in two records that lie further "
                "apart than delay and time-outs; a generation between the two left no record and may have placed them"
            )
            doubt = replace(finding, severity=Severity.INFO, certainty=Certainty.POSSIBLE)
            found.append(replace(doubt, subjects=subjects, message=message))
    return found


def _findings(state: ConnectState, last: Observed, since_ms: int) -> Iterator[Finding]:
    """The jobs that wait since this time: those that a rebalance would place, and those that no member may run."""
    waiting = {key for key, since in state.unassigned_since_ms.items() if since == since_ms}
    for keys, why in (
        (waiting - state.nobody_may_run, "delay and time-outs over"),
        (waiting & state.nobody_may_run, _nobody(state, last, waiting & state.nobody_may_run)),
    ):
        if keys:
            subjects = tuple(sorted(map(subject_of, keys)))
            jobs = "connector or task" if len(keys) == 1 else "connectors and tasks"
            message = f"{len(keys)} configured {jobs} without holder since {utc(since_ms)}, {why}"
            yield finding_of(UNASSIGNED_TOO_LONG, subjects, message, (Evidence(source=last.source),))


def _nobody(state: ConnectState, last: Observed, keys: Collection[str]) -> str:
    """Why no member may run these jobs, and which absent workers declare them."""
    present = last.workers()
    absent = sorted(
        worker
        for worker, jobs in state.declared.items()
        if worker not in present and any(job_key(job) in keys for job in jobs)
    )
    shown = " and ".join(absent[:SHOWN]) + (f" and {len(absent) - SHOWN} more" if len(absent) > SHOWN else "")
    it = "it" if len(keys) == 1 else "them"
    away = f"{shown} declared {it} and left the group" if absent else f"nobody declares {it}"
    return f"and no worker may run {it}: {away}, and every worker in the group runs only what it declares"


def went_on_unread(view: GroupView, state: ConnectState) -> bool:
    """Whether the group's newest record is one that could not be read: who holds what now is not known."""
    last, unread = state.last, view.envelope.unread
    return last is not None and unread is not None and unread.offset > last.source.offset


def overdue(view: GroupView, state: ConnectState, now_ms: int, *, historic: bool) -> Iterator[Notice]:
    """A notice for each set of jobs whose patience is over at `now_ms`."""
    generation = 0 if state.last is None else state.last.generation
    for due_ms, findings in _late(view, state, now_ms):
        yield Notice(moment=view.moment(due_ms, generation=generation, historic=historic), found=findings)
