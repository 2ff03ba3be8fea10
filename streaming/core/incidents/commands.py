"""Commands to paste for what a runbook says: on hosts with Apache Kafka's scripts, and under Strimzi with kubectl.

A worker's process is not restarted over REST, which speaks to connectors and tasks only. Under Strimzi a `KafkaConnect`
has its workers in pods with numbers; scaling down ends the pod with the highest one.
"""

from collections.abc import Mapping
from types import MappingProxyType

from .rule import Check
from .step import Step, WorkerMove

_RESTART = (
    "kill $(pgrep -f connect.cli.ConnectDistributed); connect-distributed.sh -daemon $WORKER_PROPERTIES  # on the host",
    "kubectl annotate pod $CONNECT_POD strimzi.io/manual-rolling-update=true",
)
_START = (
    "connect-distributed.sh -daemon $WORKER_PROPERTIES  # on the host",
    "kubectl scale kafkaconnect $CONNECT_CLUSTER --replicas=$REPLICAS",
)
COMMANDS: Mapping[WorkerMove, tuple[str, ...]] = MappingProxyType(
    {
        WorkerMove.RESTART_LEADER: _RESTART,
        WorkerMove.RESTART_NAMED: _RESTART,
        WorkerMove.RESTART_ANOTHER: _RESTART,
        WorkerMove.KEEP_NAMED_AWAY: (
            "kill $(pgrep -f connect.cli.ConnectDistributed); sleep $DELAY_S; sleep 30; "
            "connect-distributed.sh -daemon $WORKER_PROPERTIES  # on the host",
            "kubectl scale kafkaconnect $CONNECT_CLUSTER --replicas=$REPLICAS  # one less; after the delay the old "
            "number",
        ),
        WorkerMove.START_WORKER: _START,
        WorkerMove.REDECLARE: _RESTART,
        WorkerMove.UPGRADE: (
            'kubectl patch kafkaconnect $CONNECT_CLUSTER --type merge -p "{\\"spec\\":{\\"version\\":\\"$RELEASE\\"}}"',
        ),
    }
)
"""For each move: what to paste. An upgrade by hand has no one command: exchange the release on each host, restart."""


def commands_of(step: Step) -> tuple[str, ...]:
    """The commands of a step; none where there is nothing to paste, or where it warns of what does not help."""
    if step.warns:
        return ()
    return step.run if step.move is None else COMMANDS[step.move]


def on_kubernetes(check: Check) -> str:
    """The same look under Strimzi; empty where nothing of it runs in a pod of Kafka or Connect."""
    script, _, _ = check.run.partition(" ")
    if script.startswith("kafka-"):
        return f"kubectl exec $KAFKA_POD -- bin/{check.run}"
    if "$WORKER/" in check.run:
        return "kubectl exec $CONNECT_POD -- " + check.run.replace("$WORKER", "localhost:8083")
    if script == "grep":
        pattern, _, after = check.run.rpartition(".log")
        named, _, file = pattern.rpartition(" ")
        pod = "$CONNECT_POD" if file == "connect" else "$KAFKA_POD"
        return f"kubectl logs {pod} | {named}{after}"
    return ""
