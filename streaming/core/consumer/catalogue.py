"""Rules about groups of plain consumers."""

from streaming.core.incidents.confirming import GROUP_RECORD, MEMBERS
from streaming.core.incidents.rule import Rule
from streaming.core.incidents.step import looks
from streaming.core.model.results import Severity

CONSUMER_UNDECODABLE = Rule(
    code="CONSUMER-C12",
    title="undecodable_member",
    alert="KafkaGroupUndecodableMember",
    wrong="The subscription or assignment of a consumer cannot be decoded.",
    severity=Severity.HIGH,
    meaning="Every member of a completed generation has a readable subscription and assignment.",
    exceptions=("a member that is about to join has neither",),
    confirm=(GROUP_RECORD, MEMBERS),
    advice=(
        looks("Find the member's host in the message: its assignor writes bytes of its own."),
        looks("If it does not belong to the group, its configuration has a wrong `group.id`: tell whoever runs it."),
    ),
    resolves="With the first generation in which every member can be read.",
)

RULES = (CONSUMER_UNDECODABLE,)
