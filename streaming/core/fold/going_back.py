"""GROUP-G7: a classic group's generation that is lower than one that was read, in the same life of the group.

A reader sees what all replicas have. So the coordinator counts on from that, unless its log lost it: an unclean leader
election, or a broker that was restored from a copy.

    generation 47 | generation 17                 17 follows nothing that the log still has
    generation 47 | tombstone | generation 17     the group was deleted in between

A tombstone may be gone before it is read: once the group is made again, its next record has the same key, and the first
cleaning of the log removes the tombstone. So a member must be in both records: only a group without members is deleted,
and who joins again gets another member id.

Source: docs/protocol/coordinator-log.md, section 5.5.
"""

from rebalance_monitor.streaming.core.incidents.finding import Finding
from rebalance_monitor.streaming.core.incidents.notice import Notice
from rebalance_monitor.streaming.core.incidents.of_every_group import GENERATION_BACK
from rebalance_monitor.streaming.core.model.records import Row
from rebalance_monitor.streaming.core.model.results import Certainty, Evidence, Subject
from rebalance_monitor.streaming.core.model.subjects import LastRecord
from . import group_life
from .intake import Intake
from .published import body_of, source_of
from .state import Envelope


def generation_went_back(fold: Intake, row: Row, before: Envelope, last: LastRecord | None) -> None:
    """Say what this record's generation tells beside the record before it (`last`, in the group as it was `before`)."""
    over = tuple(key for key, one in fold.open().items() if one.code == GENERATION_BACK.code)
    goes_on = fold.registry.owner(body_of(row)).name == before.lifecycle
    found = _found(fold.group, row, before, last) if goes_on else ()
    if over or found:
        moment = fold.moment(row.timestamp_ms, generation=body_of(row).generation)
        fold.publish([Notice(moment=moment, found=found, over=() if found else over)])


def _found(group: str, row: Row, before: Envelope, last: LastRecord | None) -> tuple[Finding, ...]:
    generation, known = body_of(row).generation, before.generation
    if known is None or last is None or not 1 < generation < known or not _sure(row, before, last):
        return ()
    finding = Finding(
        rule=GENERATION_BACK,
        severity=GENERATION_BACK.severity,
        certainty=Certainty.LIKELY,
        subjects=(Subject("group", group),),
        message=f"the group went back from generation {known} to {generation}, and no record deleted it",
        evidence=(Evidence(source=last.source), Evidence(source=source_of(row))),
    )
    return (finding,)


def _sure(row: Row, before: Envelope, last: LastRecord) -> bool:
    """Whether the group was surely not deleted between the two records."""
    source, unread = last.source, before.unread
    body = body_of(row)
    if before.deleted or body.sampled is not None or group_life.known_again(before, body):
        return False
    if before.member_ids.isdisjoint(member.member_id for member in body.members):
        return False
    if (source.topic, source.partition) != (row.topic, row.partition) or row.offset < source.offset:
        return False
    here = unread is not None and (unread.topic, unread.partition) == (row.topic, row.partition)
    return not (here and unread is not None and unread.offset > source.offset)
