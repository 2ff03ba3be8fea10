"""How a finding is confirmed with Kafka's own means, and what is done about it where many rules say the same.

Variables to fill in: BROKERS (bootstrap servers), WORKER (host:port of a worker's REST interface), GROUP, CONNECTOR,
CONFIG_TOPIC, STATUS_TOPIC, and PARTITION and OFFSET from the incident's evidence. Kafka's group tool describes consumer
groups only; of a Connect group the workers' logs, the REST interface and the group's records tell.
"""

from functools import partial

from rebalance_monitor.streaming.core.model.findings import Severity
from .rule import Check, Rule
from .step import WorkerMove, looks, moves

STATUS = Check(
    "curl -s http://$WORKER/connectors/$CONNECTOR/status",
    "state and worker_id of the connector and of each task, as the status topic has them",
)
ALL_STATUSES = Check(
    'curl -s "http://$WORKER/connectors?expand=status"',
    "every connector and task with its state and worker_id: count them per worker",
)
FAILED_STATUSES = Check(
    'curl -s "http://$WORKER/connectors?expand=status" | grep -o \'"state":"FAILED"\' | wc -l',
    "how many connectors and tasks of the cluster have failed",
)
ASSIGNMENTS = Check(
    "grep 'got assignment' connect.log | tail -n 2",
    "what a worker logged (ask every one): generation, protocol, leader, config offset, what it was given and had to "
    "revoke, delay",
)
RUNNING_HERE = Check(
    "kafka-jmx.sh --jmx-url service:jmx:rmi:///jndi/rmi://$HOST:$JMX_PORT/jmxrmi "
    "--object-name 'kafka.connect:type=connector-task-metrics,connector=*,task=*' --attributes status --one-time",
    "one column per task that this worker really runs: ask every worker, whatever the statuses say",
)
STATUS_LOG = Check(
    "kafka-console-consumer.sh --bootstrap-server $BROKERS --topic $STATUS_TOPIC --from-beginning --timeout-ms 10000 "
    "--property print.key=true --property print.timestamp=true | grep status-task-$CONNECTOR",
    "who said RUNNING and UNASSIGNED, in which generation and in which order",
)
CONFIG_LOG = Check(
    "kafka-console-consumer.sh --bootstrap-server $BROKERS --topic $CONFIG_TOPIC --from-beginning --timeout-ms 10000 "
    "--property print.key=true --property print.offset=true --property print.value=false",
    "which connectors and tasks were configured at which offset (values stay hidden: they may hold passwords)",
)
GROUP_RECORD = Check(
    "kafka-console-consumer.sh --bootstrap-server $BROKERS --topic __consumer_offsets --partition $PARTITION "
    "--offset $OFFSET --max-messages 1 --timeout-ms 10000 "
    "--formatter org.apache.kafka.tools.consumer.GroupMetadataMessageFormatter",
    "the generation of the evidence: protocol, leader and members (`rebalance-monitor decode` also opens their bytes)",
)
REBALANCES = Check(
    'grep "Preparing to rebalance group $GROUP" server.log | tail',
    "when each rebalance began and the reason the broker gives (ask the broker that coordinates the group)",
)
GROUP_STATE = Check(
    "kafka-consumer-groups.sh --bootstrap-server $BROKERS --list --state PreparingRebalance,CompletingRebalance",
    "the consumer groups that rebalance now (a Connect group is not listed: its workers' logs tell)",
)
NO_WORKER = Check(
    "curl -s --max-time 5 http://$WORKER/connectors",
    "no answer from any worker: none runs (one that answers has not joined the group)",
)
NO_MEMBER_LEFT = Check(
    'grep "Group $GROUP with generation .* is now empty" server.log | tail -n 1',
    "when the last member left (ask the broker that coordinates the group)",
)
GROUPS = Check(
    "kafka-groups.sh --bootstrap-server $BROKERS --list",
    "the group with its type and protocol (Kafka 4.0 and later)",
)
VERSIONS = Check("curl -s http://$WORKER/", "the worker's Kafka version: ask all of them, a group may mix releases")
MEMBERS = Check(
    "kafka-consumer-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP --members --verbose",
    "each member of a consumer group with its partitions (a Connect group is refused here)",
)
OFFSETS = Check(
    "kafka-consumer-groups.sh --bootstrap-server $BROKERS --describe --group $GROUP",
    "committed offset, end offset and lag of each partition, with the member that holds it: run it twice, and see "
    "which committed offsets have grown",
)
KEPT_STATES = Check(
    'psql "$DSN" -c \'select kept_at, cluster, "group", fingerprint, record, version, length(state) '
    "from rebalance_monitor.kept_states order by kept_at desc limit 5'",
    "the states that the monitor put aside, each with its error and the record it failed at",
)
TOO_FEW_REPLICAS = Check(
    "kafka-topics.sh --bootstrap-server $BROKERS --describe --topic __consumer_offsets --under-min-isr-partitions",
    "nothing as a rule; a partition that it lists cannot be written, so that no rebalance of its groups can end",
)
FOLD_ERRORS = Check("curl -s http://$MONITOR/metrics | grep fold_errors", "the errors so far, by their type")

STOP_DOUBLE = (
    looks(
        "Find out which of the two runs is the wrong one: it is on the worker that the latest generation does not list "
        "as the holder. The group's page shows both."
    ),
    moves(
        "Restart that worker. Restarting the connector alone may leave the second run alive.",
        WorkerMove.RESTART_NAMED,
    ),
    looks(
        "Expect records handled twice by a sink, or two writers of one source's offsets, since the incident was opened."
    ),
)
REBALANCE_ONCE = (
    looks("See whether a rebalance is still under way or a delay is running: then wait for its end."),
    moves(
        "Otherwise restart the worker that leads the group (the group's page names it): a new leader has no memory "
        "of the rebalance and assigns whatever nobody holds.",
        WorkerMove.RESTART_LEADER,
    ),
)
DECLARATIONS = (
    looks("Compare what the named worker declares with what the others declare."),
    moves("If the declarations are right, restart the leader.", WorkerMove.RESTART_LEADER),
    moves("If they are not, correct them on the worker that declares wrongly and restart it.", WorkerMove.REDECLARE),
)
WISHES = (
    looks("Where no release knows the protocol `static`, declarations are wishes of the monitor's configuration."),
)
NEXT_GENERATION_WITHOUT = "With the next generation in which it is not so."
NEXT_GENERATION = "With the next generation in which the law holds again."
rule_of_record = partial(Rule, confirm=(GROUP_RECORD, MEMBERS), resolves=NEXT_GENERATION_WITHOUT)
"""A rule about a record of a classic group: confirmed by the record, and over with the next one that keeps it."""
instance_id_contested = partial(
    rule_of_record,
    title="instance_id_contested",
    alert="KafkaConsumerInstanceIdContested",
    wrong="Two processes use one `group.instance.id` and fence each other in turn.",
    severity=Severity.HIGH,
    needs_every_generation=False,
    for_ms=0,
    meaning="A static member has one process. One that is replaced does not come back from its old host again and "
    "again.",
    exceptions=("a process that moves to another host, and back once", "changes hours apart"),
    advice=(
        looks("The message names both hosts; the process that lost last logs `FencedInstanceIdException`."),
        looks("Each process needs a `group.instance.id` of its own: compare the configurations on both hosts."),
    ),
    resolves="Half an hour after the last change.",
)
"""The same rule for consumers and for threads of Kafka Streams."""
