"""Groups that are only counted: types of records that nobody knows, and kinds that no lifecycle reads.

Their records are not read. What is published is whether the group lives and has members, as far as keys and tombstones
tell it: `Empty` without a member, `Dead` once its epoch was deleted, and `Unknown`, Kafka's own word, for a group with
members, which may be stable or reconciling. A lifecycle for such a kind adds the kind to `READ_KINDS` of
`core/reading/decoding.py` and owns its records.
"""

from dataclasses import replace

from rebalance_monitor.streaming.core.epochs.state import EpochsState
from rebalance_monitor.streaming.core.model.records import OtherGroup


def counted(state: EpochsState, body: OtherGroup) -> EpochsState:
    """The state after a record of which only the key counts."""
    if body.member is not None:
        member = frozenset({body.member})
        state = replace(state, members=state.members - member if body.deleted else state.members | member)
    if body.whole:  # after the tombstone of its epoch nothing is left of a group but garbage
        members = frozenset[str]() if body.deleted else state.members
        state = replace(state, deleted=body.deleted, members=members)
    return state


def word(state: EpochsState) -> str:
    """The group's state in Kafka's words."""
    return "Dead" if state.deleted else "Unknown" if state.members else "Empty"
