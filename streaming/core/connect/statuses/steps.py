"""From a judged record of a Connect group to the step that the timeline takes."""

from dataclasses import replace

from rebalance_monitor.streaming.core.connect.observed import Observed
from rebalance_monitor.streaming.core.connect.statuses.round_change import RecordStep, step_of
from rebalance_monitor.streaming.core.fold.clocks import Leap
from rebalance_monitor.streaming.core.fold.lifecycle import GroupView
from rebalance_monitor.streaming.core.fold.published import body_of
from rebalance_monitor.streaming.core.fold.state import Envelope
from rebalance_monitor.streaming.core.fold.timeouts import timeouts_of
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Generation


def step_after(
    view: GroupView,
    before: Envelope,
    last: Observed | None,
    now: Observed,
    row: Row,
    published: Generation | None,
    leap: Leap,
) -> RecordStep:
    """The step of this record. `before`: the envelope before the record; `last`: the record before it, in this life of
    the group; `published`: what was published of it, None for a record without members."""
    envelope, timeouts = view.envelope, timeouts_of(view.settings, view.group, body_of(row))
    same_life = before.incarnation == envelope.incarnation and before.generation is not None
    step = step_of(
        now,
        last,
        published,
        unseen=same_life and now.generation > (before.generation or 0) + 1,
        incarnation=envelope.incarnation,
        session_ms=timeouts.session_ms,
        patience_ms=timeouts.both_ms,
        historic=envelope.historic,
    )
    return replace(step, jump_ms=leap.back_ms, unsure_ms=leap.unsure_ms)
