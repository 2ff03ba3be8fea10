"""Whether a worker that is in no record any more left or was lost, by what the status topic tells of its end.

    all jobs UNASSIGNED, the join phase ends 3 s later         left, likely: it lived when no session could have ended
    no job UNASSIGNED, silent for a session time-out           lost, likely
    all jobs UNASSIGNED, the join phase ends much later        gone: eager workers stop all jobs in every rebalance, and
                                                               may die before they join; others give their jobs up when
                                                               they lose the coordinator
    all jobs UNASSIGNED after the join phase ended             gone: its clock is ahead, or it was only frozen
    no job of which it ever wrote                              gone
    its clock may be so far ahead that its stops come later    gone

A worker's statuses carry its own clock, so they prove nothing: what is certain, the coordinator's clock alone tells
(`streaming.core.fold.departures`). What is likely must be so for every offset that the worker's clock may have
(`worker_clocks`): a stop told 2 s before the join phase ended may be 17 s old by a clock that is 15 s ahead.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.causes import GONE, LEFT, LOST
from rebalance_monitor.streaming.core.model.details import JobDowntime
from rebalance_monitor.streaming.core.model.results import Cause, Certainty, Evidence, Source, Subject

UNNOTICED_SHARE = 0.6
"""A crash is noticed one session time-out after the last heartbeat, which may itself be a third of it late."""


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker that is in no record any more: how many jobs it had, for how many of them it has ever written a status,
    how many it said to have stopped before the join phase ended, its last visible sign of life, what shows it, and when
    it said so last (0: not known), by its own clock. `late`: how many it said to have stopped afterwards."""

    worker: str
    jobs: int
    seen: int
    stopped: int
    alive_ms: int
    evidence: Source | None = None
    stopped_ms: int = 0
    late: int = 0

    def with_stop(self, at_ms: int, place: Source, *, late: bool) -> "Gone":
        """With one more job that it said to have stopped."""
        if late:
            return replace(self, late=self.late + 1)
        stopped, stopped_ms = self.stopped + 1, max(self.stopped_ms, at_ms)
        evidence = self.evidence or place
        return replace(self, stopped=stopped, seen=max(self.seen, stopped), evidence=evidence, stopped_ms=stopped_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsettled:
    """A generation whose last word is still to come, at `due_ms`. `unknown`: what cost it came in another order."""

    source: Source
    generation: int
    state_ms: int
    due_ms: int
    causes: tuple[Cause, ...]
    gone: tuple[Gone, ...] = ()
    interrupted: tuple[JobDowntime, ...] = ()
    session_ms: int = 0
    patient: bool = False
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Parting:
    """How one worker went away, how sure that is, and what shows it."""

    kind: str
    certainty: Certainty
    evidence: Evidence


Ahead = Callable[[str], int | None]
"""How much earlier than told a worker's statuses may have been written at most, in ms; None where nobody knows."""


def told_apart(unsettled: Unsettled, ahead: Ahead, told_ms: int) -> Iterator[Cause]:
    """The causes as published first; of workers that are gone, those whose statuses tell more are named apart. All
    statuses with times up to `told_ms` have come."""
    for cause in unsettled.causes:
        undecided = cause.kind == GONE or (cause.kind == LEFT and cause.certainty is Certainty.POSSIBLE)
        if not undecided:
            yield cause
            continue
        partings = [(subject, _parting_of(subject, unsettled, ahead, told_ms)) for subject in cause.subjects]
        for kind in (LEFT, LOST, GONE):
            for certainty in Certainty:
                own = [
                    (who, parting)
                    for who, parting in partings
                    if (parting.kind, parting.certainty) == (kind, certainty)
                ]
                if own:
                    yield replace(
                        cause,
                        kind=kind,
                        certainty=certainty,
                        subjects=tuple(who for who, _ in own),
                        evidence=(*cause.evidence, *(parting.evidence for _, parting in own)),
                    )


def _parting_of(subject: Subject, unsettled: Unsettled, ahead: Ahead, told_ms: int) -> Parting:
    """Workers that share an address are known by their member ids, which stand behind it (`step.seats`)."""
    named = (gone for gone in unsettled.gone if gone.worker == subject.id or gone.worker.endswith(f" {subject.id}"))
    gone = next(named, None)
    if gone is None:
        return _gone(f"the status topic tells nothing of {subject.id}'s end")
    ahead_ms = max(ahead(gone.worker) or 0, 0)
    return _parting(gone, unsettled, ahead_ms, silent=unsettled.state_ms + ahead_ms <= told_ms)


def _gone(why: str) -> Parting:
    return Parting(GONE, Certainty.CERTAIN, Evidence(text=why))


def _parting(gone: Gone, unsettled: Unsettled, ahead_ms: int, *, silent: bool) -> Parting:
    """`silent`: whatever the worker wrote before the join phase ended has come."""
    who, soon_ms = gone.worker, unsettled.session_ms * UNNOTICED_SHARE
    if gone.stopped and gone.stopped * 2 >= gone.seen:
        waited_ms = unsettled.state_ms - gone.stopped_ms
        if waited_ms + ahead_ms < soon_ms:
            place = gone.evidence
            told = Evidence(text="it stopped its tasks") if place is None else Evidence(source=place)
            return Parting(LEFT, Certainty.LIKELY, told)
        may_be = (
            f", by a clock that may be {ahead_ms} ms ahead" if waited_ms < soon_ms else ": long enough for a time-out"
        )
        return _gone(f"{who} stopped its tasks {waited_ms} ms before the join phase ended{may_be}")
    if gone.late and gone.late * 2 >= gone.seen:
        return _gone(
            f"{who} stopped its tasks after the join phase had ended: its clock is ahead, or it was only frozen"
        )
    silence_ms = max(unsettled.state_ms - gone.alive_ms, 0)
    if silence_ms < soon_ms:
        text = f"{who} gave a sign of life {silence_ms} ms before: too short for a session time-out"
        return Parting(LEFT, Certainty.POSSIBLE, Evidence(text=text))
    if gone.seen and not silent:
        return _gone(f"{who}'s clock may be {ahead_ms} ms ahead: its last statuses may be still to come")
    if gone.seen:
        stopped = gone.stopped or "none"
        text = f"{who} had {gone.seen} connectors and tasks and said of {stopped} that it stopped"
        return Parting(LOST, Certainty.LIKELY, Evidence(text=text))
    return _gone(f"the status topic tells nothing of {who}'s end")
