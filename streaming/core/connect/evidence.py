"""What has to be there before a Connect record can be judged, and what is to be said where it is not.

config records still on the way            waits, at most `judge.wait_ms`
never came, topic not known, unreadable    not_judged, and why
the leader reads another topic             not_judged: foreign worker
"""

from dataclasses import dataclass

from rebalance_monitor.schemas.connect_protocol import ConnectAssignment, WorkerState
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import body_of
from rebalance_monitor.streaming.core.fold.state import Envelope
from rebalance_monitor.streaming.core.fold.waiting import WaitingRecords
from rebalance_monitor.streaming.core.model.reasons import Reason, ReasonKind
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row
from rebalance_monitor.streaming.core.model.settings import ClusterSettings, ConnectSettings
from . import config_sanity, foreign_workers
from .observed import Observed
from .state import ConnectState
from .topic_names import connect_settings

CONNECT = "connect"
WRITTEN_AGAIN = Reason(ReasonKind.WRITTEN_AGAIN, "the same generation was written again")


def missing(settings: ClusterSettings, group: str, state: ConnectState, row: Row) -> str | None:
    """What has to arrive before this record can be judged; None if nothing."""
    body = body_of(row)
    if body.protocol_type != CONNECT or not body.members:
        return None
    topics = connect_settings(settings, group)
    if topics.config_topic is None:
        return None
    needed = _needed_offset(body)
    if needed is None or state.history.reaches(needed):
        return None
    hint = f" (a guess: set clusters[].connect.{group}.config_topic)" if topics.guessed_topics else ""
    return f"config topic {topics.config_topic} up to offset {needed}{hint}"


def _needed_offset(body: GroupGeneration) -> int | None:
    offsets = [one.assignment.config_offset for one in body.members if isinstance(one.assignment, ConnectAssignment)]
    offsets += [
        one.subscription.config_offset
        for one in body.members
        if isinstance(one.subscription, WorkerState) and one.member_id == body.leader
    ]
    return max(offsets, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """`reason`: why the round is not judged at all (None: it is). `blind`: the configured jobs are not known either.
    `foreign`: because the leader reads another config topic."""

    reason: Reason | None = None
    blind: bool = False
    foreign: bool = False


def of(
    observed: Observed,
    state: ConnectState,
    view: GroupView,
    topics: ConnectSettings,
    never_came: Reason | None,
    *,
    again: bool,
) -> Known:
    """What can be known of a round whose turn has come. `never_came`: the evidence that was waited for in vain;
    `again`: its generation was recorded before."""
    group = view.group
    strange: Reason | None = None
    if never_came is not None:
        reason: Reason | None = never_came
    elif topics.config_topic is None:
        text = f"config topic not known: set clusters[].connect.{group}.config_topic"
        reason = Reason(ReasonKind.CONFIG_TOPIC_UNKNOWN, text)
    elif _made_anew(observed, state, view.waiting):
        text = f"config topic {topics.config_topic} is newer than this generation: what its leader had read is gone"
        reason = Reason(ReasonKind.CONFIG_TOPIC_ANEW, text)
    else:
        reason = strange = foreign_workers.stranger(
            observed, state.history, state.sides, topics, group, historic=view.envelope.historic
        )
        if strange is not None and (hidden := unread(observed, state, topics)):
            reason, strange = hidden, None
    blind = reason is not None
    return Known(reason=WRITTEN_AGAIN if again else reason, blind=blind, foreign=strange is not None)


def unread(observed: Observed, state: ConnectState, topics: ConnectSettings) -> Reason | None:
    """Which config record that could not be read, or not as it was written, may be behind an answer that nothing
    explains; None for none."""
    offsets = state.history.unread_below(observed.config_offset)
    if offsets:
        places = f"{topics.config_topic} offset {', '.join(map(str, offsets))}"
        return Reason(ReasonKind.CONFIG_UNREADABLE, f"could not be read: {places}")
    offsets = config_sanity.doubted_below(state.history, observed.config_offset)
    if offsets:
        places = f"{topics.config_topic} offset {', '.join(map(str, offsets))}"
        text = f"cannot be as a worker wrote it, so it is damaged or foreign: {places}"
        return Reason(ReasonKind.CONFIG_UNREADABLE, text)
    return None


def lost(observed: Observed, state: ConnectState, envelope: Envelope) -> str:
    """Which records of the group's partition were gone before they were read, since the record before: the generations
    that are missing may have been among them. "" for none."""
    last = state.last
    if last is None or not observed.unseen:
        return ""
    ranges = [one for one in envelope.lost if last.source.offset < one[0] and one[1] <= observed.source.offset]
    offsets = ", ".join(f"{first} to {end - 1}" for first, end in ranges)
    place = f"{observed.source.topic}-{observed.source.partition}"
    return f"{place} offsets {offsets} were gone before they were read" if ranges else ""


def _made_anew(observed: Observed, state: ConnectState, waiting: WaitingRecords) -> bool:
    """Whether the leader had read configuration, and all that is there now was written later.

    By the time alone that is sure only where no clock is that far off; else where the offsets begin anew after it too.
    """
    offset = observed.config_offset
    if offset is None or offset <= 0 or not state.history.begins_after(observed.at_ms):
        return False
    coming = (_needed_offset(row.body) for row in waiting.coming() if isinstance(row.body, GroupGeneration))
    return state.history.newer_than(observed.at_ms) or any(later is not None and later < offset for later in coming)
