"""What a Connect leader's round started from, as a record shows it: members, jobs, configuration.

The record tells members, jobs and offsets; the config topic tells what was configured at an offset. What the leader's
process had in mind and what its clock said is another matter (`runs`).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rebalance_monitor.assignors.connect.model import ConfigSnapshot, ConnectMember, ConnectRound, Jobs
from rebalance_monitor.schemas.connect_protocol import WorkerState
from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.core.connect.config_history import ConfigHistory, ConfigState
from rebalance_monitor.streaming.core.connect.configured import doubted_connectors, has_applied, presumed_at, shown_jobs
from rebalance_monitor.streaming.core.connect.observed import EAGER, Observed, WorkerView
from rebalance_monitor.streaming.core.model.records import GroupGeneration
from rebalance_monitor.streaming.core.model.settings import ConnectSettings
from .hypotheses import Carried

JAVA_BEFORE_19, JAVA_FROM_19 = 17, 21
MAX_FLAGGED = 8
"""Connectors in doubt that are tried one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One generation with everything that is needed to judge it. `applied`: the leader is known to have applied every
    config record below its offset. `hidden_ms`: how much more time has passed since the record before by other clocks
    than by the records' own."""

    body: GroupGeneration
    observed: Observed
    last: Observed | None
    history: ConfigHistory
    settings: ConnectSettings
    carried: Carried
    missing_generations: int
    applied: bool = False
    hidden_ms: int = 0

    @property
    def leader_view(self) -> WorkerView:
        return self.observed.views[self.body.leader or ""]

    @property
    def max_delay_ms(self) -> int | None:
        """What the configuration says of the leader's maximum delay; None where it says nothing."""
        return self.settings.max_delay_of(self.leader_view.worker)

    @property
    def javas(self) -> tuple[int, ...]:
        """The Java releases that differ, of which the leader's is one."""
        return (self.settings.java_version,) if self.settings.java_version else (JAVA_BEFORE_19, JAVA_FROM_19)


def rounds_of(case: Case) -> Iterator[ConnectRound]:
    """The round's inputs: first with the config at the stated offsets, then with one record less (connect.md 4.3).

    A worker publishes its new offset just before it applies the record, so a snapshot may lack the last one. That
    explains an answer but proves nothing: a leader that forgot the record's jobs looks the same.
    """
    body = case.body
    members = tuple(
        ConnectMember(
            id=member.member_id,
            url=state.url,
            config_offset=state.config_offset,
            held=Jobs(allocation.connectors, allocation.tasks) if allocation else Jobs(),
            static=Jobs(state.static_connectors, state.static_tasks),
        )
        for member in body.members
        if isinstance(state := member.subscription, WorkerState)
        for allocation in (state.allocation if body.protocol != EAGER else None,)
    )
    own = case.leader_view.config_offset or 0
    top = max(member.config_offset for member in members)
    fresh_offset = case.observed.config_offset if own < top and case.observed.error == 0 else None
    # A leader that has read less than some member uses a newer snapshot, or answers with the error: never its own.
    settled = _states(case, own) if own >= top else (case.history.state_at(own) or ConfigState(),)
    for config in settled:
        for fresh in _states(case, fresh_offset) if fresh_offset is not None else (None,):
            yield ConnectRound(
                now_ms=case.observed.at_ms,
                generation=body.generation,
                last_completed_generation=-1,
                protocol=body.protocol or "",
                leader=body.leader or "",
                config=ConfigSnapshot(own, config.connectors(config.kept_by(case.settings.release))),
                fresh_config=ConfigSnapshot(fresh_offset, fresh.connectors(fresh.kept_by(case.settings.release)))
                if fresh is not None and fresh_offset is not None
                else None,
                members=members,
            )


def flagged_rounds(case: Case, rounds: Sequence[ConnectRound]) -> Iterator[ConnectRound]:
    """The round for a leader that judges otherwise which connectors' tasks are consistent: each alone, then all.

    A worker that starts on a compacted topic may have read other records between two commits, or a commit before any
    configuration (connect.md 4.3).
    """
    offset = case.observed.config_offset
    state = case.history.state_at(offset) if offset is not None else None
    if state is None or not rounds:
        return
    doubted = doubted_connectors(state) | state.lost_by(case.settings.release)
    now = state.connectors()
    other = {name: (state.counts[name] or 0) if name in state.inconsistent else 0 for name in sorted(doubted)}
    choices = [{name: count} for name, count in other.items()][:MAX_FLAGGED]
    for changed in [*choices, other] if len(other) > 1 else choices:
        yield _with_counts(rounds[0], {**now, **changed})


def revived_rounds(case: Case, rounds: Sequence[ConnectRound]) -> Iterator[ConnectRound]:
    """The round for a leader of an older release, to which a connector that was made anew brings its old tasks back."""
    offset = case.observed.config_offset
    state = case.history.state_at(offset) if offset is not None else None
    if state is None or not rounds or case.settings.release is not None:
        return
    now = state.connectors()
    told = [now]
    for kept in (state.stray, state.left):
        counts = state.connectors(kept)
        if counts not in told:
            told.append(counts)
            yield _with_counts(rounds[0], counts)


def rounds_with_lost(case: Case, rounds: Sequence[ConnectRound]) -> Iterator[ConnectRound]:
    """The round where holes in the config topic that are presumed markers of transactions were records: connectors that
    the generation shows have the tasks that it shows."""
    names = presumed_at(case.history, case.observed)
    state = case.history.state_at(case.observed.config_offset or 0)
    if not names or state is None or not rounds:
        return
    tasks = [job for job in shown_jobs(case.observed) if not isinstance(job, str)]
    least = {name: max((number + 1 for one, number in tasks if one == name), default=0) for name in sorted(names)}
    yield _with_counts(rounds[0], {**state.connectors(), **least})


def _with_counts(exact: ConnectRound, counts: Mapping[str, int]) -> ConnectRound:
    if exact.fresh_config is not None:
        return replace(exact, fresh_config=ConfigSnapshot(exact.fresh_config.offset, counts))
    return replace(exact, config=ConfigSnapshot(exact.config.offset, counts))


def _states(case: Case, offset: int) -> Iterator[ConfigState]:
    exact = case.history.state_at(offset)
    if exact is None:
        return
    yield exact
    applied = case.applied or has_applied(case.history, case.observed, case.last)
    earlier = None if applied else case.history.state_at(offset - 1)
    if earlier is not None and earlier.connectors() != exact.connectors():
        yield earlier
