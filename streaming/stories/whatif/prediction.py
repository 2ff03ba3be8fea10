"""Which rebalances a change of a group brings, whatever kind of group it is."""

from rebalance_monitor.schemas.frozen import replace
from rebalance_monitor.streaming.stories.known import GroupFacts, Published
from . import connect, consumer, streams
from .change import CannotPredict, GroupChange, WrongChange, there
from .connect_past import configured
from .outcome import Prediction

CLASSIC = "classic"
NOBODY = ("Empty", "Dead")
REBALANCING = ("PreparingRebalance", "CompletingRebalance")
_NO_STATE = "Kafka's state of the group is not known: the members of its last generation are presumed to be there."
_UNDER_WAY = "A rebalance is under way: what members have when it is over may be something else."


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
    prediction = _of_leaders(change, known, latest)
    if not known.group["status"]:
        return replace(prediction, presumed=(*prediction.presumed, _NO_STATE))
    if known.group["status"] in REBALANCING:
        return replace(prediction, unknown=(*prediction.unknown, _UNDER_WAY))
    return prediction


def within(change: GroupChange, known: GroupFacts) -> GroupChange:
    """What of a change of all groups concerns this one: the members and connectors that it has. Members that join, join
    each group that has some."""
    latest = known.latest
    if latest is None or not latest["members"]:
        return GroupChange()
    connectors = configured(latest) if change.scale and latest["protocol_type"] == "connect" else {}
    return replace(
        change,
        leave=there(change.leave, latest),
        bounce=there(change.bounce, latest),
        scale={name: tasks for name, tasks in change.scale.items() if name in connectors},
    )


def _of_leaders(change: GroupChange, known: GroupFacts, latest: Published) -> Prediction:
    if "streams" in latest:
        return streams.predict(change, latest)
    life = [one for one in known.generations if one["incarnation"] == latest["incarnation"]]
    if latest["protocol_type"] == "connect":
        return connect.predict(change, life, known.now_ms)
    if latest["protocol_type"] == "consumer":
        return consumer.predict(change, life)
    raise CannotPredict(f"groups of protocol type {latest['protocol_type']} are not predicted")
