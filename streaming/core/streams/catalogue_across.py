"""Rules about generations of a Streams group that follow each other: S-18 to S-21 and S-29 of "
"docs/protocol/streams.md 8."""

from rebalance_monitor.streaming.core.incidents.confirming import rule_of_record
from rebalance_monitor.streaming.core.incidents.rule import declared
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.findings import Severity
from .bugs import IGNORED_REJOINS
from .catalogue import LEADER, OWN_ASSIGNOR

_OTHER_LEADER = "another leader"
_OTHER_TOPICS = "topics or partitions changed"

NOT_CONVERGED = rule_of_record(
    code="STREAMS-S18",
    title="streams_needless_moves",
    alert="KafkaStreamsNeedlessMoves",
    wrong="Streams tasks with state moved, although nothing that an assignor looks at had changed.",
    severity=Severity.MEDIUM,
    meaning="Two generations of the same members in which nothing moves any more have the same tasks with state "
    "in the same places.",
    exceptions=(
        _OTHER_LEADER,
        _OTHER_TOPICS,
        OWN_ASSIGNOR,
    ),
    advice=(LEADER,),
)
NO_PROGRESS = rule_of_record(
    code="STREAMS-S19",
    title="streams_probing_does_not_converge",
    alert="KafkaStreamsProbingDoesNotConverge",
    wrong="A Streams application goes on rebalancing without getting nearer to its target assignment.",
    severity=Severity.HIGH,
    issues=(IGNORED_REJOINS.issue,),
    issues_fit=False,
    meaning="After ceil(tasks * copies / warm-ups) + 2 probing rebalances of the same members every task is "
    "where it shall be.",
    exceptions=(
        "copies that catch up one after another",
        "a copy that restores faster than its changelog is written, however slowly",
        "nobody says how fast the changelogs of growing copies are written",
        "members come and go",
    ),
    advice=(
        looks(
            "Compare the rate at which the changelog is written with the rate at which the copies restore: if "
            "writing is faster, no copy ever catches up."
        ),
        looks(
            "The message names the copies that made no progress, with their last offset sums, how fast others restore, "
            "and which cause fits. While these come nearer, the incident is information only."
        ),
        looks("See whether acceptable.recovery.lag is below the lag that a copy has when nothing is wrong."),
        looks("See whether state directories are lost: a process then begins with nothing, and its offset sum falls."),
        looks("Leaders of release 2.6.0 may set a rebalance that never comes (KAFKA-10455): 2.6.1 mends it."),
    ),
    resolves="With the first generation that sets no probing rebalance, or of other members.",
    for_ms=0,
)
UNSTABLE_OUTPUT = rule_of_record(
    code="STREAMS-S20",
    title="streams_needless_moves_without_state",
    alert="KafkaStreamsNeedlessMovesWithoutState",
    wrong="Streams tasks without state moved between processes without need.",
    severity=Severity.LOW,
    meaning="Tasks without state stay with their processes while members, and the places of tasks with state, stay.",
    exceptions=(
        _OTHER_LEADER,
        _OTHER_TOPICS,
        OWN_ASSIGNOR,
    ),
    advice=(LEADER,),
)
PING_PONG = rule_of_record(
    code="STREAMS-S21",
    title="streams_task_ping_pong",
    alert="KafkaStreamsTaskPingPong",
    wrong="A Streams task with state goes back and forth between two processes.",
    severity=Severity.MEDIUM,
    meaning="With the same members, a task with state returns once at most to a process that it left.",
    exceptions=(
        "one return, after a copy has caught up",
        "members come and go",
    ),
    advice=(
        looks("See whether copies fall behind again and again: the process may be short of disk or network."),
        LEADER,
    ),
)
STATE_LOST = rule_of_record(
    code="STREAMS-S29",
    title="streams_state_lost",
    alert="KafkaStreamsStateLost",
    wrong="A Streams process was given a task because of its state, and has not got that state any more.",
    severity=Severity.HIGH,
    meaning="A process that was given a task because of the state it reported still has that state when it "
    "reports the task next.",
    exceptions=(
        "the changelog was made anew",
        "nothing is restored yet",
    ),
    advice=(
        looks("The task stands still until its state is restored: the message names both offset sums."),
        looks(
            "The state directory may have been cleaned between the two: see state.cleanup.delay.ms, and whether "
            "the directory is on a disk that is emptied."
        ),
    ),
    for_ms=0,
)

ACROSS_RULES = declared(vars())
