"""Which rebalances a change of a group brings, whatever kind of group it is."""

from rebalance_monitor.streaming.stories.known import GroupFacts
from . import connect, consumer
from .change import CannotPredict, GroupChange, WrongChange
from .outcome import Prediction

CLASSIC = "classic"
NOBODY = ("Empty", "Dead")


def predicted(change: GroupChange, known: GroupFacts) -> Prediction:
    """By the last generations of the group, at the moment that `known` is of. CannotPredict, WrongChange."""
    latest = known.latest
    if not change:
        raise WrongChange("say what changes: --leave, --join, --scale or --bounce")
    if latest is None:
        raise CannotPredict("no generation of the group is known")
    if known.group["status"] in NOBODY:
        raise CannotPredict(f"the group is {known.group['status']}: what its next members bring along is not known")
    if latest["lifecycle"] != CLASSIC:
        raise CannotPredict("the coordinator assigns this group by itself, and whatif predicts what leaders assign")
    if "sampled" in latest:
        raise CannotPredict("the group is polled: what its members report to their leader is not known")
    if "streams" in latest:
        raise CannotPredict(
            "where a Streams leader places tasks depends on the end offsets of that moment, which no record tells"
        )
    life = [one for one in known.generations if one["incarnation"] == latest["incarnation"]]
    if latest["protocol_type"] == "connect":
        return connect.predict(change, life, known.now_ms)
    if latest["protocol_type"] == "consumer":
        return consumer.predict(change, life)
    raise CannotPredict(f"groups of protocol type {latest['protocol_type']} are not predicted")
