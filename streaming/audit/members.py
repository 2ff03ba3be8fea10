"""Contracts of `members` and `assignments`: whose generation, what they said, and the bytes they said it with."""

from rebalance_monitor.streaming.core import tables
from .contract import Contract, compared, suite

KEY = 'm.cluster, m.topic_id, m.partition, m."offset", m.ordinal'
IN_DOCUMENT, DIFFERS = compared(tables.MEMBERS, "shown.told", "m")

MEMBERS = suite(
    tables.MEMBERS,
    Contract(
        "member_has_generation",
        "a member belongs to a stored generation",
        f"select {KEY} from rebalance_monitor.members m where not exists (select from rebalance_monitor.generations g"
        ' where (g.cluster, g.topic_id, g.partition, g."offset") = (m.cluster, m.topic_id, m.partition, m."offset"))',
    ),
    Contract(
        "member_fits_document",
        "a member is what the document of its generation says of it, at the same place",
        f"""
        select {KEY} from rebalance_monitor.members m
        join rebalance_monitor.generations g using (cluster, topic_id, partition, "offset")
        left join (
            select g.cluster, g.topic_id, g.partition, g."offset", (e.number - 1)::integer as ordinal, e.told
            from rebalance_monitor.generations g
            cross join lateral jsonb_array_elements(g.document -> 'members') with ordinality as e (told, number)
        ) as shown using (cluster, topic_id, partition, "offset", ordinal)
        {IN_DOCUMENT} where {DIFFERS}
        """,
    ),
    Contract(
        "member_bytes_stored",
        "the bytes that a member's hashes name are in assignments",
        f"select {KEY} from rebalance_monitor.members m where exists (select from"
        " (values (m.subscription_hash), (m.assignment_hash)) as named (hash) where named.hash is not null"
        " and not exists (select from rebalance_monitor.assignments a where a.hash = named.hash))",
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
