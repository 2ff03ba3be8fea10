"""The published tables, each column declared once: inserts and rows, the audit's promise, docs/tables.md.

A test compares the declaration with the database that the migrations make. What a column means, the key at its place in
the object says, unless the column says it.
"""

from rebalance_monitor.streaming.core.model.results import (
    LIFE,
    GapRecord,
    Generation,
    GroupProgress,
    Incident,
    JobState,
    MemberResult,
    Part,
    Standing,
    UndecodableRecord,
)
from .columns import DATABASE, LONGEST, LONGEST_ID, WRITER, Column, PublishedTable, day_of
from .costs import FIGURES

CLUSTER = Column("cluster", "text", says="The cluster's name in the configuration.")
GROUP = Column("group", "text", says="The group's id; of a longer one its beginning and a hash.", longest=LONGEST)
TOPIC_ID = Column("topic_id", "text", WRITER, "Id of the topic; a topic that is made anew has another one.")
TOPIC = Column("topic", "text", "source.topic", "Topic of the record; (polled) where there is none.")
PARTITION = Column("partition", "int4", "source.partition", "Partition of the record.")
OFFSET = Column("offset", "int8", "source.offset", "Offset of the record.")
DAY_SAYS = "Day of the generation's `at_ms`, as days since 1970 in UTC: what history is cut by."
BATCH = Column("batch_id", "int8", WRITER, "The batch that wrote the row last.")
JUDGED_BY = Column("judged_by", "text", WRITER, "Version of the monitor.")
HISTORIC = Column("historic", "bool", lambda result: result.historic, "From records before the monitor's start.")

GENERATIONS = PublishedTable(
    "generations", "Each generation with its verdict, one row per record (a view).", Generation, 5,
    (
        CLUSTER, TOPIC_ID, PARTITION, OFFSET,
        Column("day", "int4", lambda generation: day_of(generation.at_ms), DAY_SAYS),
        TOPIC, GROUP,
        Column("incarnation", "int4"),
        Column("lifecycle", "text"),
        Column("protocol_type", "text"),
        Column("protocol", "text?"),
        Column("generation", "int4"),
        Column("leader", "text?"),
        Column("at_ms", "int8"),
        Column("state_ms", "int8?"),
        Column("member_count", "int4", lambda generation: len(generation.members), "How many members it has."),
        Column(
            "unassigned_count", "int4", lambda generation: len(generation.connect.unassigned),
            "How many configured connectors and tasks nobody has.",
        ),
        Column("delay_ms", "int8?", unit="ms"),
        Column("grade", "text", "verdict.grade"),
        Column("assignor", "text?", "verdict.assignor"),
        Column("era", "text?", "verdict.era"),
        Column("reason", "text?", "verdict.reason"),
        Column("pending_until_ms", "int8?", "verdict.pending_until_ms"),
        HISTORIC,
        Column("document", "jsonb", WRITER, "The whole object: `generation`."),
        JUDGED_BY, BATCH,
    ),
)  # fmt: skip
MEMBERS = PublishedTable(
    "members", "The members of each generation (a view).", MemberResult, 6,
    (
        Column("cluster", "text", WRITER, CLUSTER.says), TOPIC_ID,
        Column("partition", "int4", WRITER, PARTITION.says),
        Column("offset", "int8", WRITER, OFFSET.says),
        Column("ordinal", "int4", WRITER, "Place in the record, from 0."),
        Column("day", "int4", WRITER, DAY_SAYS),
        Column("member_id", "text", says="The member's id."),
        Column("client_id", "text", says="The client's id."),
        Column("client_host", "text", says="The client's address, as the coordinator saw it."),
        Column("instance_id", "text?"),
        Column("worker", "text?"),
        Column("assigned", "jsonb?"),
        Column("revoked", "jsonb?"),
        Column("owned", "jsonb?"),
        Column(
            "subscription_hash", "text?", lambda member: member.subscription_hash or None,
            "Names the subscription's bytes in `assignments`.",
        ),
        Column(
            "assignment_hash", "text?", lambda member: member.assignment_hash or None,
            "Names the assignment's bytes in `assignments`.",
        ),
    ),
)  # fmt: skip
ASSIGNMENTS = PublishedTable(
    "assignments", "Subscriptions and assignments as the members sent them, each content once a day (a view).", None, 2,
    (
        Column("hash", "text", WRITER, "Beginning of the SHA-256 of the bytes."),
        Column("day", "int4", WRITER, "Day of the generation, as in `members`."),
        Column("blob", "bytea", WRITER, "The bytes."),
    ),
)  # fmt: skip
BURSTS = PublishedTable(
    "bursts", "Generations of one kind close behind each other, as one event for people (a view).", None, 4,
    (
        Column("cluster", "text?", DATABASE, CLUSTER.says),
        Column("group", "text?", DATABASE, GROUP.says),
        Column("incarnation", "int4?", DATABASE, LIFE),
        Column("first_generation", "int4?", DATABASE, "Its first generation."),
        Column("kind", "text?", DATABASE, "What the generations have in common."),
        Column("last_generation", "int4?", DATABASE, "Its last generation."),
        Column("first_at_ms", "int8?", DATABASE, "Timestamp of the first record."),
        Column("last_at_ms", "int8?", DATABASE, "Timestamp of the last record."),
        Column("count", "int4?", DATABASE, "How many generations."),
    ),
)  # fmt: skip
CUTS = PublishedTable(
    "cuts", "Days of which only summaries are left.", None, 1,
    (
        Column("day", "int4", DATABASE, "The day, as days since 1970 in UTC."),
        Column("reason", "text", DATABASE, "age or size."),
        Column("cut_at", "timestamptz", DATABASE, "When it left the tables."),
        Column("dropped_at", "timestamptz?", DATABASE, "When its summaries were written and the rest was gone."),
    ),
)  # fmt: skip
COST_COLUMNS = tuple(
    column
    for figure in FIGURES
    for column in (
        Column(
            figure.name, "int8?", DATABASE, f"{figure.title.capitalize()} ([what it is](cost.md)).", unit=figure.unit
        ),
        Column(f"{figure.name}_of", "int8?", DATABASE, f"Of how many rebalances all of `{figure.name}` is known."),
    )
)
COSTS = PublishedTable(
    "costs", "What each rebalance cost, and of days that were cut their sums by cause (a view).", None, 6,
    (
        Column("cluster", "text", DATABASE, CLUSTER.says),
        Column("group", "text", DATABASE, GROUP.says),
        Column("day", "int4", DATABASE, "Day of the record, as days since 1970 in UTC."),
        Column("at_ms", "int8?", DATABASE, "Timestamp of the record; null: a sum of a day that was cut."),
        Column("generation", "int4?", DATABASE, "Its number; null: a sum of a day that was cut."),
        Column("cause", "text", DATABASE, "Kind of the first cause; none: the records name none."),
        Column(
            "rebalances", "int8", DATABASE, "How many: 1, or those of the sum; 0 of a record that repeats a generation."
        ),
        *COST_COLUMNS,
    ),
)  # fmt: skip
CONNECTOR_COSTS = PublishedTable(
    "connector_costs",
    "The rows of `costs` by connector of Kafka Connect: amounts add up to the same, rebalances do not (a view).",
    None,
    7,
    (
        *COSTS.columns[: COSTS.key],
        Column("connector", "text?", DATABASE, "The connector, with its tasks; null: what is not split."),
        Column(
            "rebalances", "int8", DATABASE,
            "How many concerned the connector; not split: of how many something is left.",
        ),
        *COST_COLUMNS,
    ),
)  # fmt: skip
DAILY_SUMMARIES = PublishedTable(
    "daily_summaries",
    "What is left of a day that was cut, and of incidents that are over: counts by group; what rebalances cost, by"
    " cause, and what was doubled, by rule.",
    None,
    5,
    (
        Column("cluster", "text", DATABASE, CLUSTER.says),
        Column("group", "text", DATABASE, GROUP.says),
        Column("day", "int4", DATABASE, "The day, as days since 1970 in UTC."),
        Column(
            "kind", "text", DATABASE,
            "grade and cause: generations; moved: what workers, instances or members gained; idle_s: seconds in which"
            " connectors and tasks stood still; rule: incidents.",
        ),
        Column("name", "text", DATABASE, "Which grade, cause, kind of interruption or rule."),
        Column("count", "int8", DATABASE, "How many."),
        Column(
            "rebalances", "int8?", DATABASE,
            "In rows of a cause: the generations of `count` that repeat no other; null: an older release cut the day.",
        ),
        *COST_COLUMNS,
        Column(
            "connectors", "jsonb?", DATABASE,
            "By connector of Kafka Connect, under an empty name what is not split: the columns from `rebalances` to"
            f" `{COST_COLUMNS[-1].name}` as an array. Null: nothing is split.",
        ),
    ),
)  # fmt: skip
INCIDENTS = PublishedTable(
    "incidents", "Each incident after its last transition, and whether people are notified of it.", Incident, 1,
    (
        Column("incident_id", "text", says="The incident's id."),
        CLUSTER, GROUP,
        Column("rule", "text"),
        Column("code", "text"),
        Column("severity", "text"),
        Column("certainty", "text"),
        Column(
            "transition", "text", lambda incident: incident.transition,
            "The last one: opened, fired, updated, resolved or ended.",
        ),
        Column("opened_generation", "int4"),
        Column("opened_at_ms", "int8"),
        Column("resolved_at_ms", "int8?"),
        Column("subjects", "jsonb"),
        Column("message", "text"),
        Column("evidence", "jsonb"),
        HISTORIC,
        Column("document", "jsonb", WRITER, "The whole object: `violation`."),
        Column("alert", "text"),
        Column("firing", "bool"),
        Column("fired_at_ms", "int8?"),
        Column("team", "text"),
        Column("muted_by", "text?", DATABASE, "The maintenance window that mutes it; stays when the incident ends."),
        Column("led_by", "text?", DATABASE, "The incident whose notification names this one as also broken."),
        JUDGED_BY, BATCH,
    ),
)  # fmt: skip
INCIDENT_PARTS = PublishedTable(
    "incident_parts", "The findings that an incident is made of, each with all its subjects.", Part, 3,
    (
        Column("incident_id", "text", says="The incident's id."),
        Column("part", "text", WRITER, "Rule code and subjects. What heals and breaks again is another row."),
        Column("opened_at_ms", "int8"),
        Column("severity", "text"),
        Column("certainty", "text"),
        Column("resolved_at_ms", "int8?"),
        Column("subjects", "jsonb"),
        Column("message", "text"),
        Column("document", "jsonb", WRITER, "The whole object: `incident_part`."),
        BATCH,
    ),
)  # fmt: skip
OUTBOX = PublishedTable(
    "outbox", "Notifications, written together with the transition that they are about.", None, 1,
    (
        Column("key", "text", WRITER, "Incident and transition: a repeat has the same."),
        Column("incident_id", "text", WRITER, "The incident's id."),
        Column("transition", "text", WRITER, "fired, updated, resolved, ended, muted or unmuted."),
        Column("document", "jsonb", WRITER, "The incident: `violation`."),
        Column("previous", "jsonb?", WRITER, "The incident before an update: its labels end when the new ones begin."),
        BATCH,
        Column("sequence", "int8", DATABASE, "Order of writing."),
        Column("created_at", "timestamptz", DATABASE, "When it was written."),
        Column("done", "bool", DATABASE, "Whether every receiver has it."),
        Column(
            "joined", "jsonb?", DATABASE,
            "The key and the event of the notification that joins it with those of other groups; {}: it is sent by"
            " itself; null: not decided, or no receiver takes joined ones.",
        ),
    ),
)  # fmt: skip
OUTBOX_SENT = PublishedTable(
    "outbox_sent", "Which receiver has which notification.", None, 2,
    (
        Column("key", "text", DATABASE, "The notification."),
        Column("url", "text", DATABASE, "The receiver."),
        Column("sent_at", "timestamptz", DATABASE, "When it had it."),
        Column("refused", "text?", DATABASE, "What a receiver said that will never accept it; null: accepted."),
    ),
)  # fmt: skip
CONNECTORS_AND_TASKS = PublishedTable(
    "connectors_and_tasks", "Each connector and task of a Connect group as it stands, three ways.", JobState, 4,
    (
        CLUSTER, GROUP,
        Column("type", "text", "subject.type", "connector or task."),
        Column("id", "text", "subject.id", "The connector's name; of a task with -number.", longest=LONGEST_ID),
        Column("incarnation", "int4"),
        Column("generation", "int4"),
        Column("assigned", "jsonb"),
        Column("expected", "text?"),
        Column("judged", "bool"),
        Column("state", "text?", "running.state", "What the status topic says; null where it says nothing."),
        Column("running", "text?", "running.worker", "The worker that said so."),
        Column("running_generation", "int4?", "running.generation"),
        Column("running_at_ms", "int8?", "running.at_ms", "When it said so."),
        Column("since_ms", "int8?"),
        Column("agreement", "text"),
        Column("document", "jsonb", WRITER, "The whole object: `connector_or_task`."),
        BATCH,
    ),
)  # fmt: skip
GROUPS = PublishedTable(
    "groups", "Each group as its latest record shows it.", Standing, 2,
    (
        CLUSTER, GROUP,
        Column("state", "text", says="Kafka's name: Stable (with members), Empty, Dead (deleted) …"),
        Column("at_ms", "int8", says="Timestamp of the record."),
        BATCH,
    ),
)  # fmt: skip
GROUP_PROGRESS = PublishedTable(
    "group_progress", "How far the members of a group had come when brokers were asked last.", GroupProgress, 2,
    (
        CLUSTER, GROUP,
        Column("generation", "int4", says="The group's generation then."),
        Column("asked_ms", "int8"),
        Column("answered_ms", "int8"),
        Column("lag", "int8?"),
        Column("lag_ms", "int8?"),
        Column("at_least", "bool", lambda told: told.at_least, "`lag_ms` is a lower bound."),
        Column("trend", "text?"),
        Column("document", "jsonb", WRITER, "The whole object: `group_progress`."),
        BATCH,
    ),
)  # fmt: skip
OTHER_GROUPS = PublishedTable(
    "other_groups", "Groups of kinds that are only counted.", None, 3,
    (
        Column("cluster", "text", WRITER, CLUSTER.says),
        Column("group", "text", WRITER, GROUP.says),
        Column("kind", "text", WRITER, "consumer, share, streams or unknown."),
        Column("records", "int8", WRITER, "How many records there were."),
    ),
)  # fmt: skip
POSITIONS = PublishedTable(
    "positions", "How far each partition was read and judged.", None, 3,
    (
        Column("cluster_id", "text", WRITER, "The cluster's own id."),
        TOPIC_ID,
        Column("partition", "int4", WRITER, "The partition."),
        Column("topic", "text", WRITER, "The topic's name."),
        Column("next_offset", "int8", WRITER, "The next offset to read."),
        Column("hole", "int8?", WRITER, "The offset behind the newest hole: records that were gone before it."),
        Column("markers", "bool", WRITER, "It has markers of transactions, whose offsets no record has."),
        BATCH,
        Column("updated_at", "timestamptz", DATABASE, "When it moved last."),
    ),
)  # fmt: skip
GAPS = PublishedTable(
    "gaps", "Offsets that were gone before they could be read, and who has taken note of it.", GapRecord, 4,
    (
        CLUSTER, TOPIC_ID,
        Column("partition", "int4", says="The partition."),
        Column("from_offset", "int8"),
        Column("topic", "text", says="The topic's name."),
        Column("to_offset", "int8"),
        Column("reason", "text", says="Why they were gone."),
        BATCH,
        Column("found_at", "timestamptz", DATABASE, "When the monitor stored it."),
        Column("acknowledged_at", "timestamptz?", DATABASE, "When somebody took note of it."),
        Column("acknowledged_by", "text?", DATABASE, "The role of that session."),
        Column("acknowledged_operator", "text?", DATABASE, "The account on the machine of that command, as it said."),
    ),
)  # fmt: skip
UNDECODABLE = PublishedTable(
    "undecodable", "The first records of each reason that could not be decoded.", UndecodableRecord, 4,
    (
        CLUSTER, TOPIC_ID, PARTITION, OFFSET, TOPIC,
        Column("reason", "text", says="Why it could not be decoded.", longest=LONGEST),
        Column("size_bytes", "int8", "bytes", unit="bytes"),
        Column("sample", "text", lambda record: record.sample, "The beginning of the bytes."),
        BATCH,
    ),
)  # fmt: skip
UNDECODABLE_COUNTS = PublishedTable(
    "undecodable_counts", "How many records could not be decoded, all of them.", None, 2,
    (
        Column("cluster", "text", WRITER, CLUSTER.says),
        Column("reason", "text", WRITER, "Why they could not be decoded."),
        Column("records", "int8", WRITER, "How many."),
    ),
)  # fmt: skip
MAINTENANCE = PublishedTable(
    "maintenance", "Maintenance windows given on the command line; each row is its own audit.", None, 1,
    (
        Column("window_id", "int8", DATABASE, "The window's number."),
        Column("cluster", "text", DATABASE, CLUSTER.says),
        Column("groups", "text", DATABASE, "Pattern of the ids of its groups."),
        Column("owner", "text", DATABASE, "Whose window it is."),
        Column("reason", "text", DATABASE, "What it is for."),
        Column("from_ms", "int8", DATABASE, "When it begins."),
        Column("until_ms", "int8", DATABASE, "When it ends."),
        Column("operator", "text", DATABASE, "The account on the machine of the command, as it said."),
        Column("added_at", "timestamptz", DATABASE, "When it was added."),
        Column("added_by", "text", DATABASE, "The role of the session that added it."),
        Column("ended_at", "timestamptz?", DATABASE, "When somebody ended it early."),
        Column("ended_by", "text?", DATABASE, "The role of that session."),
        Column("ended_operator", "text?", DATABASE, "The account on the machine of that command, as it said."),
    ),
)  # fmt: skip

TABLES = (
    GENERATIONS, MEMBERS, ASSIGNMENTS, BURSTS, INCIDENTS, INCIDENT_PARTS, OUTBOX, OUTBOX_SENT, CONNECTORS_AND_TASKS,
    GROUPS, GROUP_PROGRESS, OTHER_GROUPS, POSITIONS, GAPS, UNDECODABLE, UNDECODABLE_COUNTS, MAINTENANCE, CUTS,
    DAILY_SUMMARIES, COSTS, CONNECTOR_COSTS,
)  # fmt: skip
