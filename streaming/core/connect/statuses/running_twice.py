"""CONNECT-K2: one job, run by two workers.

    A RUNNING 5, B RUNNING 7                              possible: A never said that it stopped. It may be dead
    … A is silent for one session and rebalance time-out  over: it is
    … A writes about the job later than B's start         certain: it lives, and has not stopped
    … A is in a later record and reports the job          certain, if B is there too
    … either says that it stopped, or rejoins without     over

    7 is eager, 5 was not, and A is in both               likely: eager workers stop everything when a rebalance begins,
                                                          but in the first one nobody knows yet that it is one

A worker that comes back and reports the job beside its new owner has not said that it stopped, as far as was read.
Where the status topic was compacted since it joined, it may have: its FAILED gives way to the new owner's RUNNING. Then
it is possible, until the returned worker writes about the job.

A write counts as later when it stands behind B's start in the topic, where all of one job stand in one partition, and
was surely written after it: writes may arrive late, and two workers' clocks differ (`worker_clocks`).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.clocks.span import SKEW_MS
from rebalance_monitor.streaming.core.connect.rules.catalogue_status import RUNNING_TWICE
from rebalance_monitor.streaming.core.incidents.finding import Finding, finding_of
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Severity, Source, Subject
from rebalance_monitor.streaming.core.model.subjects import subject_of
from .facts import ENDED, RUNNING, UNASSIGNED, Claim, JobFacts, JobKey, Sighting
from .round_change import RecordStep
from .situation import TOLD, Situation, incident_key, shown_at
from .worker_clocks import MOST_RECORDS

DOWNGRADED = (
    "the group fell from a cooperative protocol to eager in this generation, for which no worker stops anything, and "
    "{old} is still in the group and has not said that it stopped"
)
REPORTED = "{old} is in the group and reports it as its own"
HIDDEN = (
    "{old} is in the group and reports it as its own, but the status topic was compacted before it was read, and "
    "{old} may have written that it ended"
)

MOST_RETURNED = 256
"""Jobs that returning workers brought along, the newest, that are remembered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """Two workers that may run one job: `new` wrote RUNNING in `generation` while `old` still claimed it.

    It ends at `due_ms` unless `old` gives a sign of life before; `certain` once it did. `new` had surely started by
    `late_ms` (None: nobody knows). `alive`: generation and time of the first status of `old` behind that in the topic.
    `ended`: `new` runs the job no more, but whether `old` ran beside it is not known yet. `downgraded`: likely
    already, for the generation is the first eager one after a cooperative one, and `old` is in it. `hidden`: `old` may
    have written that the job ended where nobody could read it. `over`: `new` may have done so, and nothing shows any
    more that both ran it at a time.
    """

    job: JobKey
    new: str
    old: str
    generation: int
    at_ms: int
    due_ms: int
    certain: bool = False
    downgraded: bool = False
    late_ms: int | None = None
    alive: tuple[int, int] | None = None
    ended: bool = False
    hidden: bool = False
    over: bool = False

    def of(self, job: JobKey, one: str, two: str) -> bool:
        """Whether these two workers may run this job."""
        return self.job == job and {self.new, self.old} == {one, two}


@dataclass(frozen=True, slots=True)
class CameBack:
    """A worker that came into a generation with a job that another one, `beside` it, reported as its own as well."""

    job: JobKey
    worker: str
    beside: str
    generation: int
    source: Source


@dataclass(slots=True, kw_only=True)
class RunningTwice:
    """`returned`: who came back with what, lately. `unstopped`: workers that a fall to the eager protocol in the last
    record left running."""

    suspicions: tuple[Suspicion, ...] = ()
    returned: tuple[CameBack, ...] = ()
    unstopped: frozenset[str] = frozenset()

    def sighted(self, now: Situation, status: Sighting, before: JobFacts) -> None:
        """A status of a job; `before` is what was known without it."""
        if status.state is None:
            self._close(now, [two for two in self.suspicions if two.job == status.job], status.at_ms)
            return
        own = [one for one in self.suspicions if one.job == status.job and status.worker in (one.old, one.new)]
        for suspicion in own:
            if status.worker == suspicion.new:
                self._of_the_new(now, suspicion, status)
            elif _handed_back(now, before, status, suspicion):
                self._close(now, [suspicion], status.at_ms)
            elif not _of_an_unseen_generation(now, status):
                self._sign_of_life(now, suspicion, status)
        if status.state == RUNNING:
            for claim in before.claims:
                if claim.worker != status.worker:
                    self._suspect(now, status, claim)
            self._beside_returned(now, status)

    def _of_the_new(self, now: Situation, suspicion: Suspicion, status: Sighting) -> None:
        """The new owner has stopped, or starts anew. If it stopped, a record may still show that the old one ran on."""
        if status.state in ENDED or (suspicion.ended and status.state == RUNNING):
            self._close(now, [suspicion], status.at_ms)
            if status.state in ENDED and not suspicion.certain and not suspicion.ended:
                self.suspicions += (replace(suspicion, ended=True),)

    def _sign_of_life(self, now: Situation, suspicion: Suspicion, status: Sighting) -> None:
        if _ran_beside(now, suspicion, status):
            why = f"{suspicion.old} wrote {status.state} after {suspicion.new} had started it"
            suspicion = self._certain(now, suspicion, status.at_ms, why, now.place(status))
        elif suspicion.alive is None or suspicion.alive[0] != status.generation:
            suspicion = self._instead(suspicion, replace(suspicion, alive=(status.generation, status.at_ms)))
        if status.state in ENDED or (suspicion.ended and suspicion.certain):
            self._close(now, [suspicion], status.at_ms)

    def _suspect(self, now: Situation, status: Sighting, claim: Claim) -> None:
        """RUNNING while another worker still claims the job. The lower generation is the former owner's."""
        late = status.generation < claim.generation
        new, old = (claim.worker, status.worker) if late else (status.worker, claim.worker)
        if any(two.of(status.job, new, old) and not two.ended for two in self.suspicions):
            return
        due_ms = status.at_ms + now.group.patience_ms
        if not late:
            due_ms = claim.void_ms if claim.void_ms is not None else due_ms
            _doubt(now, status.job, old, None if due_ms <= status.at_ms else due_ms)
            if due_ms <= status.at_ms:
                return
        suspicion = Suspicion(
            job=status.job,
            new=new,
            old=old,
            generation=claim.generation if late else status.generation,
            at_ms=claim.at_ms if late else status.at_ms,
            due_ms=due_ms,
            late_ms=now.offsets.latest_ms(claim if late else status),
            hidden=not late and _may_be_over(now, claim),
        )
        suspicion = replace(suspicion, downgraded=self._left_running(now, suspicion))
        self.suspicions += (suspicion,)
        places = (Evidence(source=now.place(claim)), shown_at(now, status))
        why = DOWNGRADED.format(old=old) if suspicion.downgraded else f"{old} has not said that it stopped"
        now.found(_finding(suspicion, why, places), status.at_ms, suspicion.generation)
        if late:
            self._sign_of_life(now, suspicion, status)

    def _left_running(self, now: Situation, suspicion: Suspicion) -> bool:
        """Whether the job moved in the last record, which let the group fall to the eager protocol, from a worker that
        is still in the group."""
        return suspicion.generation == now.group.generation and suspicion.old in self.unstopped

    def stepped(self, now: Situation, step: RecordStep) -> None:
        """A record, after its changes are applied: a downgrade makes the suspicions of its own generation likely."""
        self.unstopped = frozenset(step.unstopped)
        for suspicion in [one for one in self.suspicions if not (one.certain or one.downgraded or one.ended)]:
            if self._left_running(now, suspicion):
                likely = self._instead(suspicion, replace(suspicion, downgraded=True))
                why = DOWNGRADED.format(old=suspicion.old)
                now.found(_finding(likely, why, (Evidence(source=step.source),)), step.at_ms)

    def _certain(self, now: Situation, suspicion: Suspicion, at_ms: int, why: str, place: Source) -> Suspicion:
        """The old owner lives: this is no mere suspicion any more, and the next silence counts from here."""
        due_ms = at_ms + now.group.patience_ms
        sure = self._instead(suspicion, replace(suspicion, certain=True, due_ms=due_ms))
        if not suspicion.certain:
            now.found(_finding(sure, why, (Evidence(source=place),)), at_ms)
        return sure

    def _instead(self, former: Suspicion, suspicion: Suspicion) -> Suspicion:
        self.suspicions = tuple(suspicion if one == former else one for one in self.suspicions)
        return suspicion

    def _close(self, now: Situation, suspicions: Iterable[Suspicion], at_ms: int) -> None:
        ended = list(suspicions)
        self.suspicions = tuple(one for one in self.suspicions if one not in ended)
        now.over([incident_key(_finding(one, "", ())) for one in ended], at_ms)

    def before(self, now: Situation, step: RecordStep) -> None:
        """A record, before its changes are applied: who reports it as its own now?"""
        members = step.members_after(now.group.members)
        for suspicion in self.suspicions:
            if step.generation <= suspicion.generation:
                continue
            if suspicion.ended:
                self._ended_before(now, step, suspicion, members)
                continue
            old_has, new_has = (_reports(now, step, one, suspicion.job) for one in (suspicion.old, suspicion.new))
            if suspicion.old in members and old_has and suspicion.new in members and new_has:
                if suspicion.hidden:
                    continue
                self._certain(now, suspicion, step.at_ms, REPORTED.format(old=suspicion.old), step.source)
            elif suspicion.new not in members or not new_has or suspicion.old in members:
                self._close(now, [suspicion], step.at_ms)
                if suspicion.old in members and not old_has:
                    _doubt(now, suspicion.job, suspicion.old, None)
        for worker, jobs in sorted(step.claimed.items()):
            for job in jobs:
                self._brought_back(now, step, worker, job, members)
        self._returned(now, step)

    def _ended_before(self, now: Situation, step: RecordStep, suspicion: Suspicion, members: frozenset[str]) -> None:
        """The new owner has stopped the job, by the times that are told. If both report it in a record that takes it
        from the new owner, that stop came after the record, and both ran it until then."""
        if suspicion.old not in members:
            return
        taken = suspicion.new in members and suspicion.job in step.lost.get(suspicion.new, ())
        both = taken and all(_reports(now, step, one, suspicion.job) for one in (suspicion.old, suspicion.new))
        if both and not suspicion.hidden and suspicion.job in step.claimed.get(suspicion.old, ()):
            suspicion = self._certain(now, suspicion, step.at_ms, REPORTED.format(old=suspicion.old), step.source)
        self._close(now, [suspicion], step.at_ms)

    def _returned(self, now: Situation, step: RecordStep) -> None:
        """Remember who brings along what another one reports too: that it has started it may be told only later."""
        oldest = step.generation - MOST_RECORDS
        returned = [one for one in self.returned if oldest < one.generation < step.generation]
        for worker in (one for one in step.joined if one in step.claimed):
            for job in step.claimed[worker]:
                facts = now.facts(job)
                if facts.ended_by(worker, before=step.generation) or _end_hidden(now, worker, facts):
                    continue
                others = (one for one in facts.holders if one != worker and _reports(now, step, one, job))
                returned += [CameBack(job, worker, one, step.generation, step.source) for one in others]
        self.returned = tuple(returned[-MOST_RETURNED:])

    def _beside_returned(self, now: Situation, status: Sighting) -> None:
        """A start that is told after the record in which the old owner reported the job too."""
        for back in self.returned:
            if (back.job, back.beside) != (status.job, status.worker) or back.generation <= status.generation:
                continue
            known = next((two for two in self.suspicions if two.of(status.job, status.worker, back.worker)), None)
            if known is None:
                known = Suspicion(
                    job=status.job,
                    new=status.worker,
                    old=back.worker,
                    generation=status.generation,
                    at_ms=status.at_ms,
                    due_ms=status.at_ms + now.group.patience_ms,
                )
                self.suspicions += (known,)
            self._certain(now, known, status.at_ms, REPORTED.format(old=back.worker), back.source)

    def _brought_back(
        self, now: Situation, step: RecordStep, worker: str, job: JobKey, members: frozenset[str]
    ) -> None:
        """A worker reports a job it was not known to hold, while another runs it: a zombie's, found without a
        suspicion. If it has written before that the job ended, it holds the job and does not run it."""
        facts = now.facts(job)
        if facts.ended_by(worker, before=step.generation):
            return
        for claim in facts.claims:
            known = any(one.of(job, claim.worker, worker) for one in self.suspicions)
            if claim.worker == worker or known or claim.worker not in members or claim.generation >= step.generation:
                continue
            if _reports(now, step, claim.worker, job):
                suspicion = Suspicion(
                    job=job, new=claim.worker, old=worker, generation=claim.generation, at_ms=claim.at_ms, due_ms=0
                )
                over = _may_be_over(now, claim)
                if over or _end_hidden(now, worker, facts):
                    suspicion = replace(suspicion, due_ms=step.at_ms + now.group.patience_ms, hidden=True, over=over)
                    self.suspicions += (suspicion,)
                    place, hidden = Evidence(source=step.source), claim.worker if over else worker
                    now.found(_finding(suspicion, HIDDEN.format(old=hidden), (place,)), step.at_ms)
                    continue
                self.suspicions += (suspicion,)
                self._certain(now, suspicion, step.at_ms, REPORTED.format(old=worker), step.source)

    def due_ms(self) -> int:
        return min((one.due_ms for one in self.suspicions), default=TOLD)

    def wait(self, ms: int) -> None:
        """So much of the time that is told next may not have passed."""
        self.suspicions = tuple(replace(one, due_ms=one.due_ms + ms) for one in self.suspicions)

    def fire(self, now: Situation, now_ms: int) -> None:
        """Old owners that kept silent long enough do not run anything: their claims are void."""
        for suspicion in [one for one in self.suspicions if one.due_ms <= now_ms]:
            _doubt(now, suspicion.job, suspicion.old, None)
            self._close(now, [suspicion], suspicion.due_ms)


def _handed_back(now: Situation, facts: JobFacts, status: Sighting, suspicion: Suspicion) -> bool:
    """The old owner was given the job anew, after the other had it: it starts it rightly, be it as a paused one. Where
    its generation has left no record, that may be so; but what it stops it may have brought along."""
    newer = max(now.group.generation, suspicion.generation) < status.generation
    if newer and status.state not in ENDED and not now.recorded_in(status.generation):
        return True
    return status.worker in facts.holders and suspicion.generation < facts.since <= status.generation


def _of_an_unseen_generation(now: Situation, status: Sighting) -> bool:
    """Whether the writer started the job in a generation whose record lies in a hole: it may have been given it there.
    The next record shows who has it."""
    following = now.following
    if following is None or not following.unseen or status.state != RUNNING:
        return False
    within = now.group.generation < status.generation < following.generation
    return within and not now.recorded_in(status.generation)


def _ran_beside(now: Situation, suspicion: Suspicion, status: Sighting) -> bool:
    """Whether this status of the old owner, which stands behind the start of the new one in the topic, was also written
    after it: in the same generation or a later one, by every clock that can be, or longer than a write may be on its
    way after another one behind that start, on the old owner's own clock. Where the new one's run may have been over,
    nothing shows it; where the old one's may, the UNASSIGNED of a connector does not, which one that failed has too."""
    if suspicion.over or (suspicion.hidden and status.state == UNASSIGNED and status.job.startswith("connector ")):
        return False
    if suspicion.generation <= status.generation <= now.group.generation:
        return True
    earliest_ms = now.offsets.earliest_ms(status)
    if earliest_ms is not None and suspicion.late_ms is not None and earliest_ms > suspicion.late_ms:
        return True
    alive = suspicion.alive
    return alive is not None and alive[0] == status.generation and status.at_ms >= alive[1] + SKEW_MS


def _finding(suspicion: Suspicion, why: str, evidence: tuple[Evidence, ...]) -> Finding:
    if suspicion.certain:
        verb, severity, certainty = "runs", Severity.CRITICAL, Certainty.CERTAIN
    elif suspicion.downgraded:
        verb, severity, certainty = "probably runs", Severity.HIGH, Certainty.LIKELY
    else:
        verb, severity, certainty = "may run", Severity.INFO, Certainty.POSSIBLE
    first, second = sorted((suspicion.new, suspicion.old))
    job = subject_of(suspicion.job)
    subjects = (job, Subject("worker", first), Subject("worker", second))
    message = f"{job.key} {verb} twice, on {first} and {second}: {why}"
    cause = (Subject("worker", suspicion.old),)
    return finding_of(RUNNING_TWICE, subjects, message, evidence, severity=severity, certainty=certainty, cause=cause)


def _end_hidden(now: Situation, worker: str, facts: JobFacts) -> bool:
    """Whether the worker may have written that it ended without anybody having read it: its last statuses of the
    job lie in a hole of the topic, between the record with which it joined and now."""
    known = {claim.partition for claim in facts.claims} | (
        {facts.shown.partition} if facts.shown is not None else set()
    )
    holes = [at_ms for place, at_ms in now.group.holes_ms.items() if not known or int(place) in known]
    joined_ms = now.group.joined_ms.get(worker)
    return any(joined_ms is None or at_ms > joined_ms - SKEW_MS for at_ms in holes)


def _may_be_over(now: Situation, claim: Claim) -> bool:
    """Whether the run may have ended without anybody having read it: a hole of the topic lies behind its start."""
    at_ms = now.group.holes_ms.get(str(claim.partition))
    return at_ms is not None and at_ms > claim.at_ms


def _reports(now: Situation, step: RecordStep, worker: str, job: JobKey) -> bool:
    """Whether the worker, by its own account when it joined, has the job. Eager workers give no account."""
    if job in step.claimed.get(worker, ()):
        return True
    return worker in now.facts(job).holders and not step.restarts and job not in step.absent.get(worker, ())


def _doubt(now: Situation, job: JobKey, worker: str, void_ms: int | None) -> None:
    """The worker's claim will be void at this time, or (None) is now."""
    facts = now.facts(job)
    kept = (claim for claim in facts.claims if claim.worker != worker or void_ms is not None)
    claims = tuple(replace(claim, void_ms=void_ms) if claim.worker == worker else claim for claim in kept)
    now.change(job, replace(facts, claims=claims))
