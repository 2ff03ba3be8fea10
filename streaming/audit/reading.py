"""Contracts of what was read and what could not be: `positions`, `gaps`, `undecodable`; and of `maintenance`."""

from rebalance_monitor.streaming.core import tables
from .contract import Contract, suite

PLACE = "cluster, topic_id, partition"

POSITIONS = suite(
    tables.POSITIONS,
    Contract(
        "position_in_range",
        "partitions and offsets count from 0",
        "select cluster_id, topic_id, partition from rebalance_monitor.positions"
        " where least(next_offset, partition) < 0",
    ),
    Contract(
        "position_topic_has_one_name",
        "a topic's id names one topic",
        "select cluster_id, topic_id from rebalance_monitor.positions group by 1, 2 having count(distinct topic) > 1",
    ),
)

GAPS = suite(
    tables.GAPS,
    Contract(
        "gap_has_extent",
        "a gap ends behind its beginning, unless it only says that the topic was made anew",
        f"select {PLACE}, from_offset from rebalance_monitor.gaps where to_offset < from_offset"
        " or (to_offset = from_offset and reason <> 'topic_made_anew')",
    ),
    Contract(
        "gap_claimed_once",
        "no two gaps of a partition overlap",
        "select a.cluster, a.topic_id, a.partition, b.from_offset from rebalance_monitor.gaps a"
        " join rebalance_monitor.gaps b using (cluster, topic_id, partition)"
        " where a.from_offset < b.from_offset and b.from_offset < a.to_offset",
    ),
    Contract(
        "gap_was_passed",
        "the position has passed every gap",
        f"select {PLACE}, from_offset from rebalance_monitor.gaps g where not exists (select"
        " from rebalance_monitor.positions p where p.topic_id = g.topic_id and p.partition = g.partition"
        " and g.to_offset <= p.next_offset)",
    ),
)

UNDECODABLE = suite(
    tables.UNDECODABLE,
    Contract(
        "undecodable_was_read",
        "an undecodable record lies below the position of its partition",
        f'select {PLACE}, "offset" from rebalance_monitor.undecodable u where not exists (select'
        " from rebalance_monitor.positions p where p.topic_id = u.topic_id and p.partition = u.partition"
        ' and u."offset" < p.next_offset)',
    ),
    Contract(
        "undecodable_size",
        "a record is as long as its sample, or longer",
        f'select {PLACE}, "offset" from rebalance_monitor.undecodable where size_bytes < 0',
    ),
)

UNDECODABLE_COUNTS = suite(
    tables.UNDECODABLE_COUNTS,
    Contract(
        "undecodable_counted",
        "of every reason at least as many records are counted as are kept",
        "select cluster, reason, k.kept, c.records from (select cluster, reason, count(*) as kept"
        " from rebalance_monitor.undecodable group by 1, 2) as k"
        " left join rebalance_monitor.undecodable_counts c using (cluster, reason)"
        " where c.records is null or c.records < k.kept",
    ),
)

MAINTENANCE = suite(
    tables.MAINTENANCE,
    Contract(
        "window_end_is_signed",
        "a window that was ended says when and by whom, and not before it was added",
        "select window_id from rebalance_monitor.maintenance"
        " where (ended_at is null) <> (ended_by is null) or ended_at < added_at",
    ),
    Contract(
        "window_has_owner",
        "a window has an owner and a reason, and lasts seven days at most",
        "select window_id from rebalance_monitor.maintenance where owner = '' or reason = ''"
        " or until_ms <= from_ms or until_ms - from_ms > 604800000",
    ),
)
