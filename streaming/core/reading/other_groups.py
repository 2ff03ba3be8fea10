"""What a replay saw of KIP-848 consumer groups, share groups and Streams groups (KIP-1071), which are not judged.

Their records lie in `__consumer_offsets` under keys of their own (coordinator-log.md, Part 3). Only what one record
says by itself is kept: the group's epoch, who is a member, how many records there were and when.
"""

from collections import Counter

from rebalance_monitor.schemas.coordinator_records import decode_record
from rebalance_monitor.schemas.offsets_topic import GROUP_TYPES, MEMBER_TYPES
from rebalance_monitor.schemas.outcomes import Decoded
from rebalance_monitor.streaming.core.model.printed import OtherGroupSeen


class OtherGroups:
    """The groups of other kinds, by kind and group id."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._seen: dict[tuple[str, str], OtherGroupSeen] = {}

    def add(self, kind: str, group: str, at_ms: int, key: bytes | None, value: bytes | None) -> None:
        """One record of such a group; its value is read only where it states an epoch or a member."""
        seen = self._seen.get((kind, group))
        if seen is None:
            seen = self._seen[kind, group] = OtherGroupSeen(
                cluster=self._cluster, kind=kind, group=group, first_at_ms=at_ms
            )
        seen.records += 1
        seen.first_at_ms, seen.last_at_ms = min(seen.first_at_ms, at_ms), max(seen.last_at_ms, at_ms)
        type_ = int.from_bytes((key or b"")[:2], "big")
        if type_ not in GROUP_TYPES | MEMBER_TYPES:
            return
        outcome = decode_record(key, value)
        if not isinstance(outcome, Decoded):
            return
        record = outcome.value
        if type_ in MEMBER_TYPES:
            member = str(record.key.get("memberId"))
            (seen.member_ids.discard if value is None else seen.member_ids.add)(member)
        else:
            seen.deleted = value is None
            epoch = (record.value or {}).get("epoch")
            seen.epoch = epoch if isinstance(epoch, int) else seen.epoch

    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(kind for kind, _ in self._seen).items()))

    def seen(self) -> list[OtherGroupSeen]:
        return [self._seen[place] for place in sorted(self._seen)]
