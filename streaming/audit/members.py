"""Contracts of `members` and `assignments`: what they said, and the bytes they said it with."""

from rebalance_monitor.streaming.core import tables
from .contract import Contract, suite

KEY = 'm.cluster, m.topic_id, m.partition, m."offset", m.ordinal'

MEMBERS = suite(
    tables.MEMBERS,
    Contract(
        "member_bytes_stored",
        "the bytes that a member's hashes name are in assignments",
        f"select distinct {KEY} from rebalance_monitor.members m"
        " cross join lateral (values (m.subscription_hash), (m.assignment_hash)) as named (hash)"
        " where named.hash not in (select hash from rebalance_monitor.assignments)",
    ),
    Contract(
        "member_once",
        "a member is in a generation once",
        f"select {KEY} from rebalance_monitor.members m join rebalance_monitor.members o"
        ' using (cluster, topic_id, partition, "offset", member_id) where m.ordinal < o.ordinal',
    ),
)

ASSIGNMENTS = suite(
    tables.ASSIGNMENTS,
    Contract(
        "bytes_fit_hash",
        "the hash is that of the bytes",
        "select a.hash from rebalance_monitor.assignments a"
        " where a.hash <> left(encode(sha256(a.blob), 'hex'), char_length(a.hash))",
    ),
)
