"""Rules about groups of plain consumers: the laws of docs/protocol/consumer.md 9."""

from functools import partial

from rebalance_monitor.streaming.core.incidents.confirming import instance_id_contested, rule_of_record
from rebalance_monitor.streaming.core.incidents.rule import declared
from rebalance_monitor.streaming.core.incidents.step import looks, rejoins
from rebalance_monitor.streaming.core.model.findings import Severity

EACH_TIME = "an assignor of somebody's own that does so in each generation: info"
ON_PURPOSE = "the configuration says that the assignor does so"
UNKNOWN_CLIENT = "a leader of an unknown client: info"
_NOT_AN_ANSWER = (
    "the same generation was written again",
    "the first record of a group that another protocol may have assigned",
)
_LEADER = looks("The leader's client computes the assignment: the group's page names it, with its host.")
_REPORT = looks("Compare the clients' versions: a group may mix releases, and the leader's decides.")
_rule = partial(rule_of_record, needs_every_generation=False)

WITHOUT_OWNER = _rule(
    code="CONSUMER-C01",
    title="partition_without_owner",
    alert="KafkaConsumerPartitionWithoutOwner",
    wrong="No consumer of the group has a partition of a topic that the group subscribes to.",
    severity=Severity.CRITICAL,
    for_ms=0,
    pages=True,
    patience="after the session and rebalance time-outs together, and 5 min more where only samples of the topics "
    "show the partition",
    meaning="Every partition of every subscribed topic that exists is given to a member, at the latest with the "
    "generations that follow within the group's time-outs.",
    exceptions=(
        "the next generation places it",
        "partitions that change hands are held back",
        "the topic is gone",
        "only partitions that members kept show that it exists, and no sample does: info",
        EACH_TIME,
        ON_PURPOSE,
        "a leader of an unknown client, and no sample shows the partition: info",
    ),
    advice=(
        looks("Nobody reads these partitions: their lag grows until a member has them. The group's page names them."),
        looks(
            "See that the leader's principal may describe the topic: a leader leaves out what it does not know. The "
            "group's page names the leader, with its host.",
            "kafka-acls.sh --bootstrap-server $BROKERS --list --topic $TOPIC",
        ),
        rejoins(
            "If it may, restart its process: another member leads then and computes anew. Partitions may move with "
            "every join and every departure."
        ),
    ),
    resolves="With the generation that gives the partitions to a member.",
)
UNSUBSCRIBED = _rule(
    code="CONSUMER-C02",
    title="unsubscribed_partition",
    alert="KafkaConsumerUnsubscribedPartition",
    wrong="A consumer was given a partition of a topic that it does not subscribe to.",
    severity=Severity.CRITICAL,
    meaning="No member receives a partition of a topic that its subscription does not name.",
    exceptions=(
        EACH_TIME,
        "a library that deals the leader's topics to all members: info",
        *_NOT_AN_ANSWER,
    ),
    advice=(_LEADER, _REPORT),
)
TAKEN_EARLY = _rule(
    code="CONSUMER-C03",
    title="partition_taken_early",
    alert="KafkaConsumerPartitionTakenEarly",
    wrong="A consumer was given a partition that another member still owned.",
    severity=Severity.CRITICAL,
    recurs=True,
    issues=("KAFKA-12984", "KAFKA-13406", "KAFKA-14639"),
    meaning="A cooperative leader gives nobody a partition that another member reports as its own: the owner gives it "
    "up first, and the next generation hands it out.",
    exceptions=("two members report the partition", "the report is of an older generation"),
    advice=(
        looks(
            "Records of the partition may have been handled twice, from the rebalance on until the owner gave it up."
        ),
        looks(
            "A single one is over when the owner has given the partition up, a second later: it is history, and people "
            "are notified only of one that lasts, or when a third generation within an hour does it."
        ),
        looks("Compare the clients' versions with those in which the issues below were corrected."),
    ),
    resolves="With the next generation in which it is not so; after a third within an hour, an hour after the last.",
)
UNEVEN_STICKY = _rule(
    code="CONSUMER-C04",
    title="uneven_partitions",
    alert="KafkaConsumerUnevenPartitions",
    wrong="The partitions are not evenly shared, although all members subscribe to the same topics.",
    severity=Severity.HIGH,
    issues=("KAFKA-15170",),
    meaning="With equal subscriptions, a sticky leader gives no member two partitions more than another.",
    exceptions=("partitions that change hands are held back", UNKNOWN_CLIENT),
    advice=(_LEADER, _REPORT),
)
SWAPPED = _rule(
    code="CONSUMER-C05",
    title="swapped_partitions",
    alert="KafkaConsumerSwappedPartitions",
    wrong="Two consumers exchanged partitions of one topic, which helps nobody.",
    severity=Severity.LOW,
    meaning="With different subscriptions, a sticky leader of Kafka's client moves no partition of a topic from one "
    "member to another while it moves one of the same topic back.",
    exceptions=("two members reported one partition", "two members were given one partition"),
    advice=(_LEADER, _REPORT),
)
UNEVEN_RANGE = _rule(
    code="CONSUMER-C06",
    title="uneven_partitions",
    alert="KafkaConsumerUnevenPartitions",
    wrong="The partitions of a topic are not shared in even blocks.",
    severity=Severity.HIGH,
    meaning="Under `range`, each subscriber of a topic has a block of neighbouring partitions, and no block is larger "
    "than another by two.",
    exceptions=("racks are set: blocks may have holes", "another library's class of this name", UNKNOWN_CLIENT),
    advice=(_LEADER, _REPORT),
)
UNEVEN_ROUNDROBIN = _rule(
    code="CONSUMER-C07",
    title="uneven_partitions",
    alert="KafkaConsumerUnevenPartitions",
    wrong="The partitions are not evenly shared, although all members subscribe to the same topics.",
    severity=Severity.HIGH,
    meaning="With equal subscriptions, `roundrobin` gives no member two partitions more than another.",
    exceptions=("subscriptions differ", UNKNOWN_CLIENT),
    advice=(_LEADER, _REPORT),
)
NOT_COPARTITIONED = _rule(
    code="CONSUMER-C08",
    title="not_copartitioned",
    alert="KafkaConsumerNotCopartitioned",
    wrong="Partitions of one number went to different consumers, although their topics have equal counts.",
    severity=Severity.HIGH,
    issues=("KAFKA-14891",),
    meaning="Under `range`, topics with equal partition counts and equal subscribers are shared in the same way: joins "
    "of such topics depend on it.",
    exceptions=("a leader that is not Kafka's own client", "racks are set: they may differ between the topics"),
    advice=(
        looks("An application that joins these topics by partition number has missed matches since the rebalance."),
        _LEADER,
    ),
)
TRANSFER_UNFINISHED = _rule(
    code="CONSUMER-C09",
    title="transfer_unfinished",
    alert="KafkaConsumerTransferUnfinished",
    wrong="Consumers had to give partitions up, and the rebalance that hands them out did not come.",
    severity=Severity.HIGH,
    for_ms=0,
    patience="after the session time-out and twice the rebalance time-out",
    needs_every_generation=True,
    meaning="After a cooperative rebalance in which members lose partitions, they join again, and another generation "
    "follows.",
    exceptions=("the next generation comes",),
    advice=(
        looks("Find the member that does not join again: it logs no `Request joining group` after the revocation."),
        looks("Until it joins again, or its time-out removes it, nobody reads the partitions."),
    ),
    resolves="With the next generation.",
)
NEEDLESS_MOVES = _rule(
    code="CONSUMER-C10",
    title="needless_moves",
    alert="KafkaConsumerNeedlessMoves",
    wrong="Partitions changed hands, although nothing that an assignor looks at had changed.",
    severity=Severity.MEDIUM,
    needs_every_generation=True,
    meaning="A sticky leader answers as before if members, subscriptions and partitions are the same, and were evenly "
    "shared.",
    exceptions=("a member lost what it held", UNKNOWN_CLIENT),
    advice=(_LEADER, _REPORT),
)
MIXED_CLIENTS = _rule(
    code="CONSUMER-C11",
    title="mixed_clients",
    alert="KafkaConsumerMixedClients",
    wrong="Members of one group run clients of different releases or libraries.",
    severity=Severity.INFO,
    meaning="Members whose clients are alike write their subscriptions in one version. Each client has an assignor of "
    "its own under the same name, and the leader's decides: when another member leads, partitions may move.",
    exceptions=("version 0, which some libraries write where a subscription needs no more",),
    advice=(
        looks("During a rolling upgrade this is to be expected, and ends with it."),
        looks("Else compare the clients of the members that the message names, and bring them to one release."),
    ),
    resolves="With the first generation in which all members write one version.",
)
CONSUMER_UNDECODABLE = _rule(
    code="CONSUMER-C12",
    title="undecodable_member",
    alert="KafkaGroupUndecodableMember",
    wrong="The subscription or assignment of a consumer cannot be decoded.",
    severity=Severity.HIGH,
    meaning="Every member of a completed generation has a readable subscription and assignment.",
    exceptions=(
        "a member that is about to join has neither",
        "a subscription that ends behind its user data",
    ),
    advice=(
        looks("Find the member's host in the message: its assignor writes bytes of its own."),
        looks("If it does not belong to the group, its configuration has a wrong `group.id`: ask whoever runs it."),
    ),
    resolves="With the first generation in which every member can be read.",
)
TWO_OWNERS = _rule(
    code="CONSUMER-C13",
    title="partition_with_two_owners",
    alert="KafkaConsumerPartitionWithTwoOwners",
    wrong="Two consumers of one group were given the same partition.",
    severity=Severity.CRITICAL,
    meaning="Every partition is given to one member at most (the other half of C-01).",
    exceptions=(EACH_TIME, ON_PURPOSE),
    advice=(
        looks("Both consumers handle the partition's records, and each commits over the other's offsets."),
        looks(
            "If the topic was made anew with fewer partitions, members report numbers that no longer exist. A process "
            "that begins anew reports nothing old."
        ),
        _LEADER,
    ),
)
CONTESTED = instance_id_contested(code="CONSUMER-C14")

SHORT_SUBSCRIPTION = _rule(
    code="CONSUMER-C15",
    title="short_subscription",
    alert="KafkaConsumerShortSubscription",
    wrong="Members write subscriptions that end behind the user data.",
    severity=Severity.INFO,
    meaning="A subscription of version 1 or later goes on behind its user data. kafka-go and @platformatic/kafka stop "
    "there, and their leaders read such bytes. The group is judged as if the subscription had version 0.",
    exceptions=("version 0 has nothing behind the user data",),
    advice=(
        looks("Nothing is broken as long as all members use this library."),
        looks("Kafka's own client cannot lead such a group: keep it out, or change all members at once."),
    ),
    resolves="With the first generation in which no member writes such a subscription.",
)

NO_SUCH_PARTITION = _rule(
    code="CONSUMER-C16",
    title="no_such_partition",
    alert="KafkaConsumerNoSuchPartition",
    wrong="A consumer was given a partition that its topic does not have.",
    severity=Severity.HIGH,
    meaning="An assignor that is not recomputed gives only partitions that samples around the record show.",
    exceptions=("the topic has grown meanwhile", "no sample was taken after the record"),
    advice=(
        _LEADER,
        looks(
            "Compare the partition with what the topic has.",
            "kafka-topics.sh --bootstrap-server $BROKERS --describe --topic $TOPIC",
        ),
    ),
)
RULES = declared(vars())
