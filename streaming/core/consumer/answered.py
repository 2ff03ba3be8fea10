"""What the laws of an assignor find in one answer, and what is remembered of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import body_of, source_of
from rebalance_monitor.streaming.core.fold.timeouts import timeouts_of
from rebalance_monitor.streaming.core.fold.written_again import first_may_be_missing
from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.transitions import Moment
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.results import Certainty
from . import own_assignors, unowned
from .answer import KNOWN, Answer
from .answer_laws import ANSWER_LAWS
from .catalogue import NO_SUCH_PARTITION, WITHOUT_OWNER
from .own_assignors import Habits
from .state import ConsumerState
from .unowned import Waits


@dataclass(frozen=True, slots=True)
class AfterAnswer:
    """What one answer says of incidents, what then waits, and the habits of its assignor."""

    notices: tuple[Notice, ...]
    waits: Waits
    habits: Habits


def after_answer(view: GroupView, state: ConsumerState, row: Row, answer: Answer, moment: Moment) -> AfterAnswer:
    """What an answer tells that does not repeat the one before. Nothing is said of the first record of a group, whose
    assignment another protocol may have made; what it leaves out is waited for all the same."""
    body, history = body_of(row), view.knowledge.topics
    meant = own_assignors.on_purpose(view.settings, view.group)
    own = answer.assignor not in KNOWN
    habits = own_assignors.habits_of(state.habits, answer) if own else Habits()
    outdated = _outdated(body) or first_may_be_missing(view.envelope, row)
    notices: list[Notice] = []
    broken: tuple[str, ...] = ()
    if view.envelope.generation is not None or body.generation <= 1:
        found = [one for one in _found(answer, outdated=outdated) if one.rule.code not in meant]
        broken = tuple(one.rule.code for one in found)
        if own:
            missing = own_assignors.no_such_partition(answer, history, row.timestamp_ms)
            found = [*own_assignors.held_to(habits, found), *missing]
        notices.append(Notice(moment=moment, found=tuple(found), evaluated=_looked_for(outdated=outdated)))
    if outdated:
        return AfterAnswer(tuple(notices), Waits(), habits)
    before = state.waits if body.sampled is None else unowned.seen_again(state.waits)
    waits = (
        Waits()
        if WITHOUT_OWNER.code in meant
        else unowned.noted(
            before,
            answer,
            history,
            row.timestamp_ms,
            timeouts_of(view.settings, view.group, body),
            source_of(row),
            habits.most(WITHOUT_OWNER.code) if own else Certainty.CERTAIN,
        )
    )
    notices.append(Notice(moment=moment, found=unowned.still_unowned(waits), evaluated=unowned.CODES))
    if own:
        left_out = bool(waits.partitions)
        habits = own_assignors.after(habits, answer, history, row.timestamp_ms, broken, unowned=left_out)
    return AfterAnswer(tuple(notices), waits, habits)


def _found(answer: Answer, *, outdated: bool) -> Iterator[Finding]:
    """`outdated`: what members subscribe to may be newer than what they were given."""
    for law in ANSWER_LAWS:
        if not (law.subscribed and outdated):
            yield from law.broken(answer)


def _looked_for(*, outdated: bool) -> frozenset[str]:
    asked = (law.rule for law in ANSWER_LAWS if not (law.subscribed and outdated))
    return frozenset({NO_SUCH_PARTITION.code, *(rule.code for rule in asked)})


def _outdated(body: GroupGeneration) -> bool:
    """Whether a member may have been given its share before it sent what is polled now: a static member that is
    replaced keeps its share, and its group writes the same generation again, which a record shows by its number."""
    return body.sampled is not None and any(member.instance_id is not None for member in body.members)
