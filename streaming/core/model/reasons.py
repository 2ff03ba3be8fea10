"""Why a verdict is no plain match: a kind, which programs compare, and a text, which people read.

    Reason(ReasonKind.CONFIG_BEHIND, "config snapshot one record behind its offset")

A kind says what a grade rests on. The text may change from release to release and may name records, workers or offsets.
"""

from dataclasses import dataclass
from enum import StrEnum


class ReasonKind(StrEnum):
    """What is behind a verdict, in the order of the grades: explainable, unexplained, not judged."""

    # The leader may remember what no record shows.
    HISTORY_MISSING = "history_missing"
    MISSING_GENERATIONS = "missing_generations"
    UNSEEN_REBALANCES = "unseen_rebalances"
    MEMORY_BOUND = "memory_bound"
    GENERATIONS_MAY_BE_MISSING = "generations_may_be_missing"
    # A setting is not known.
    UNKNOWN_MAXIMUM_DELAY = "unknown_maximum_delay"
    UNKNOWN_TOPICS = "unknown_topics"
    UNKNOWN_DEFAULT = "unknown_default"
    UNKNOWN_SETTINGS = "unknown_settings"
    UNKNOWN_END_OFFSETS = "unknown_end_offsets"
    UNKNOWN_STATE = "unknown_state"
    UNKNOWN_PROCESS_ID = "unknown_process_id"
    UNKNOWN_SUBSCRIPTION = "unknown_subscription"
    UNKNOWN_RACKS = "unknown_racks"
    COUNTS_INFERRED = "counts_inferred"
    # Another release, or another client.
    OTHER_RELEASE = "other_release"
    FOREIGN_CLIENT = "foreign_client"
    RELEASE_OR_CLIENT = "release_or_client"
    # The leader's own view at that moment.
    CONFIG_BEHIND = "config_behind"
    CONFIG_INCONSISTENT = "config_inconsistent"
    TASKS_REVIVED = "tasks_revived"
    CLOCKS_APART = "clocks_apart"
    ARRAY_ORDER = "array_order"
    EQUAL_CHOICE = "equal_choice"

    OTHER_ANSWER = "other_answer"
    # Other than Kafka's class gives, which is likely the leader's.
    CLIENT_PRESUMED = "client_presumed"

    PENDING = "pending"
    EVIDENCE_MISSING = "evidence_missing"
    CONFIG_TOPIC_UNKNOWN = "config_topic_unknown"
    CONFIG_TOPIC_ANEW = "config_topic_anew"
    CONFIG_UNREADABLE = "config_unreadable"
    CONFIG_COMPACTED = "config_compacted"
    FOREIGN_WORKER = "foreign_worker"
    MEMBER_UNREADABLE = "member_unreadable"
    NO_LEADER = "no_leader"
    CANNOT_RUN = "cannot_run"
    TOPOLOGY_UNKNOWN = "topology_unknown"
    TOO_MANY_POSSIBILITIES = "too_many_possibilities"
    ASSIGNOR_UNKNOWN = "assignor_unknown"
    ASSIGNOR_NOT_DETERMINISTIC = "assignor_not_deterministic"
    PLUG_IN_FAILED = "plug_in_failed"
    PARTITIONS_UNKNOWN = "partitions_unknown"
    CLIENT_UNKNOWN = "client_unknown"
    CONVERSION = "conversion"
    WRITTEN_AGAIN = "written_again"
    SAMPLED = "sampled"
    INTERNAL_ERROR = "internal_error"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason: its kind, and the text without a full stop."""

    kind: ReasonKind
    text: str
