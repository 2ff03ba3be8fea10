"""Rules about groups of Kafka Streams under the classic protocol: S-01 to S-29 of docs/protocol/streams.md 8, and what
every classic group is held to."""

from rebalance_monitor.streaming.core.incidents.confirming import GROUP_RECORD, MEMBERS
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.results import Severity

STREAMS_UNDECODABLE = Rule(
    code="STREAMS-S30",
    title="undecodable_member",
    alert="KafkaGroupUndecodableMember",
    wrong="The subscription or assignment of a Streams thread cannot be decoded.",
    severity=Severity.HIGH,
    meaning="Every member of a completed generation has a readable subscription and assignment, and readable Streams "
    "payloads in them.",
    exceptions=("a member that is about to join has neither",),
    confirm=(GROUP_RECORD, MEMBERS),
    advice=(
        looks("Find the member's host in the message, and the release of Kafka Streams that runs there."),
        looks(
            "If it does not belong to the group, its configuration has a wrong `application.id`: ask whoever runs it."
        ),
    ),
    resolves="With the first generation in which every member can be read.",
)
STREAMS_CONTESTED = Rule(
    code="STREAMS-S31",
    title="instance_id_contested",
    alert="KafkaConsumerInstanceIdContested",
    wrong="Two processes use one `group.instance.id` and fence each other in turn.",
    severity=Severity.HIGH,
    for_ms=0,
    meaning="A static member has one process. One that is replaced does not come back from its old host again and "
    "again.",
    exceptions=("a process that moves to another host, and back once", "changes hours apart"),
    confirm=(GROUP_RECORD, MEMBERS),
    advice=(
        looks("The message names both hosts; the process that lost last logs `FencedInstanceIdException`."),
        looks("Each process needs a `group.instance.id` of its own: compare the configurations on both hosts."),
    ),
    resolves="Half an hour after the last change.",
)

RULES = (STREAMS_UNDECODABLE, STREAMS_CONTESTED)
