"""Workers that follow another config topic than the one their group is watched with.

Two Connect clusters with one group id join one group and destroy each other: each leader hands out its own connectors,
and no worker ever catches up with the other topic's offsets. The monitor reads one of the two topics (or, by a mistake
in its own configuration, neither), and must not judge one cluster's leader by the other's configuration.

    g-configs holds orders              A leads, hands out orders       judged: A is ours from now on
                                        B leads, hands out payments     not_judged: foreign worker B
                                        A hands out what nobody knows   judged, and wrong: a process reads one topic
    g-configs ends at 12                B states offset 57              not_judged: only B has read further

A process keeps its member id for as long as it reads one topic, so leaders are remembered by it.
"""

from dataclasses import dataclass

from rebalance_monitor.schemas.connect_protocol import WorkerState
from rebalance_monitor.streaming.core.model.messages import listed
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.results import Grade
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from .config_history import ConfigHistory
from .configured import configured_at
from .observed import Observed, job_connector, worker_of

MAX_LEADERS = 64
SHOWN = 5
COMPARE = "compare group.id and config.storage.topic of the workers"


@dataclass(frozen=True, slots=True)
class ConfigSides:
    """Leaders (member ids) whose answers came from the watched topic, and those whose did not; the newest last."""

    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()

    def after(self, observed: Observed, grade: Grade, *, foreign: bool) -> "ConfigSides":
        """With what this round shows of its leader."""
        leader = observed.leader
        if leader is None or observed.error:
            return self
        if foreign:
            return ConfigSides(self.ours, _with(self.theirs, leader))
        explained = grade in (Grade.MATCH, Grade.EXPLAINABLE)
        if explained and any(view.assigned for view in observed.views.values()):
            return ConfigSides(_with(self.ours, leader), tuple(one for one in self.theirs if one != leader))
        return self


def _with(leaders: tuple[str, ...], leader: str) -> tuple[str, ...]:
    if leaders and leaders[-1] == leader:
        return leaders
    return (*(one for one in leaders if one != leader), leader)[-MAX_LEADERS:]


def stranger(
    observed: Observed,
    history: ConfigHistory,
    sides: ConfigSides,
    topics: ConnectSettings,
    group: str,
    *,
    historic: bool,
) -> Reason | None:
    """Why the leader of this round is to be taken for one that reads another topic; None if nothing says so.

    In a history that was compacted before it was read, what is missing may just be gone.
    """
    leader = observed.leader
    if leader is None or leader not in observed.views or leader in sides.ours or observed.error:
        return None
    if historic and history.hole_offset is not None:
        return None
    given, held = (frozenset(map(job_connector, jobs)) for jobs in (observed.assigned(), observed.reported()))
    if not given and leader not in sides.theirs and not held:
        return None
    known = history.names()
    odd = given - known
    if given and not odd:
        return None
    if given and not (odd == given or _left_lying(observed, history)):
        return None
    if not given and leader not in sides.theirs and not (held - known and _left_lying(observed, history)):
        return None
    text = _reason(observed, leader, odd or held - known, sides, topics, group)
    return Reason(ReasonKind.FOREIGN_WORKER, text)


def _left_lying(observed: Observed, history: ConfigHistory) -> bool:
    """Whether jobs of the watched topic are in nobody's hands with nothing pending: its own leader leaves none."""
    configured = configured_at(history, observed) or frozenset()
    return not observed.delay_ms and bool(configured - observed.hands() - observed.revoked())


def _reason(
    observed: Observed, leader: str, odd: frozenset[str], sides: ConfigSides, topics: ConnectSettings, group: str
) -> str:
    names = sorted(odd)
    what = f"hands out {listed(names, SHOWN)}, which" if names else "leaves everything lying that"
    text = (
        f"foreign worker: {observed.process_of(leader)} leads and {what} config topic {topics.config_topic} "
        f"{'has never held' if names else 'holds'}, so it reads another one; {COMPARE}"
    )
    return text if sides.ours else f"{text}, and clusters[].connect.{group}.config_topic"


def ahead(body: GroupGeneration, history: ConfigHistory) -> str:
    """Who has read further than the topic goes, to be said once the wait for the rest of it is over."""
    read = {
        member.member_id: (worker_of(member.subscription.url), member.subscription.config_offset)
        for member in body.members
        if isinstance(member.subscription, WorkerState)
    }
    end = history.next_offset
    beyond = sorted(worker for worker, offset in read.values() if offset > end)
    if end == 0:
        return ": nothing of it has been read; does it exist under this name, and may the monitor read it?"
    if not beyond:
        return ""
    if len(beyond) == len(read):
        return (
            f": it ends at {end}, and all workers have read further; is it the topic they follow, or was it made anew?"
        )
    names = ", ".join(beyond[:SHOWN])
    return f": it ends at {end}, and of the workers only {names} read further; foreign workers? {COMPARE}"
