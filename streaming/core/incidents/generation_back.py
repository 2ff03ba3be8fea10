"""The rule about generations that go back, in whatever kind of classic group."""

from rebalance_monitor.streaming.core.incidents.confirming import MEMBERS
from rebalance_monitor.streaming.core.incidents.rule import Rule
from rebalance_monitor.streaming.core.incidents.step import looks
from rebalance_monitor.streaming.core.model.results import Severity

GENERATION_BACK = Rule(
    code="GROUP-G7",
    title="generation_went_back",
    alert="KafkaGroupGenerationWentBack",
    wrong="The generation of a group went back while the group was not deleted.",
    severity=Severity.MEDIUM,
    for_ms=0,
    meaning="A coordinator counts on from the newest record of the group, so a generation is never below one that was "
    "read, unless the coordinator does not have that record any more.",
    exceptions=(
        "the group was deleted and made again",
        "it begins with its first generation",
        "records were not read in between",
        "no member is in both records: the group may have been deleted, and its tombstone cleaned away",
    ),
    confirm=(MEMBERS,),
    advice=(
        looks(
            "Look for an unclean leader election of the group's partition of `__consumer_offsets`, or for a broker "
            "that was restored from a copy."
        ),
        looks(
            "Offsets that the group committed may have gone back, too: its members read records a second time, "
            "or begin where `auto.offset.reset` says."
        ),
    ),
    resolves="With the next generation.",
)

RULES = (GENERATION_BACK,)
