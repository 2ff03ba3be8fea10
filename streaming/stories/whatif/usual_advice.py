"""What a group's history would have been under each setting that needs no value, and which of them would have saved
something: one answer for the command, the API and the page.

How long computing takes goes with what members hold in all generations together. So the newest generations are looked
at, until they hold as much as is said; the answer says if there were more.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rebalance_monitor.schemas.coordinator_records import NEWEST
from rebalance_monitor.schemas.sticky_user_data import COOPERATIVE_STICKY
from rebalance_monitor.streaming.core.connect.observed import EAGER
from rebalance_monitor.streaming.core.costs import CONNECT
from rebalance_monitor.streaming.core.model.messages import counted, listed
from rebalance_monitor.streaming.stories.known import Published
from rebalance_monitor.streaming.stories.why import MOST_REBALANCES
from .advice import AskedHistory, AskedSetting, advice_object, instead_of
from .advice_words import CLASSES, STANDBYS
from .connect_history import ConnectSetting
from .streams_history import StreamsSetting, own_setting

MOST_HELD = 20_000
"""Connectors, tasks and partitions that members hold, in all generations together."""
SAVES_PERCENT = 10
"""A setting is worth a line if a figure would have been lower by so much, in each course."""
_NEWEST = ".".join(map(str, NEWEST))


def looked_at(documents: Iterable[Published], most_held: int = MOST_HELD) -> tuple[list[Published], bool]:
    """Of documents, the newest first, those that are looked at; whether that is all of them."""
    found: list[Published] = []
    held = 0
    for one in documents:
        held += sum(map(_held, one["members"]))
        if found and (held > most_held or len(found) >= MOST_REBALANCES):
            return found, False
        found.append(one)
    return found, True


def _held(member: Published) -> int:
    return sum(map(len, (member["assigned"] or {}).values()))


def settings_of(generations: Sequence[Published]) -> Iterator[AskedSetting]:
    """Those that need no value and differ from what the newest generation shows."""
    last = generations[0] if generations else None
    if last is None or last["lifecycle"] != "classic":
        return
    if last["protocol_type"] == CONNECT:
        eager = last["protocol"] == EAGER
        yield AskedSetting(connect=ConnectSetting(protocol="sessioned") if eager else ConnectSetting(release=_NEWEST))
        return
    yield AskedSetting(static=True)
    if own_setting(generations).standbys == 0:
        yield AskedSetting(streams=StreamsSetting(standbys=1))
    if last["protocol"] in CLASSES and last["protocol"] != COOPERATIVE_STICKY:
        yield from (AskedSetting(name) for name in CLASSES if name != last["protocol"])


def usual_object(history: AskedHistory, since_ms: int | None) -> dict[str, Any]:
    return {
        "kind": "usual_advice",
        "cluster": history.cluster,
        "group": history.group,
        "since_ms": since_ms,
        "generations": len(history.generations),
        "all": history.whole,
        "settings": [advice_object(history, asked) for asked in settings_of(history.generations)],
    }


def worth_it(told: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The API's object for people: a line for each setting that would have saved something, and what it rests on."""
    return [(_line(answer), _evidence(answer)) for answer in _answers(told) if _saved(answer)]


def notes_on(told: Mapping[str, Any]) -> list[str]:
    """What is to be known of these lines as a whole."""
    if told["all"]:
        return []
    return [f"There were more: only the newest {counted(told['generations'], 'generation')} were looked at."]


def lines_of_others(told: Mapping[str, Any]) -> Iterator[str]:
    """Of settings that would have saved nothing, and of those that could not be computed."""
    if others := [answer["title"] for answer in _answers(told) if not _saved(answer)]:
        yield f"Less than {SAVES_PERCENT} % of each figure would have been saved with {listed(others)}."
    reasons: dict[str, list[str]] = {}
    for one in told["settings"]:
        if one["why_not"] is not None:
            reasons.setdefault(one["why_not"], []).append(_name(one))
    yield from (f"Cannot tell with {listed(names)}: {why}." for why, names in reasons.items())


def _answers(told: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (one["answer"] for one in told["settings"] if one["answer"] is not None)


def _name(advice: Mapping[str, Any]) -> str:
    if advice["static_members"]:
        return "static members"
    if advice["standbys"] is not None:
        return f"{STANDBYS} {advice['standbys']}"
    if advice["assignor"]:
        return str(advice["assignor"])
    return f"the protocol {advice['protocol']}" if advice["protocol"] else f"Kafka {advice['release']}"


def _saved(answer: Mapping[str, Any]) -> list[str]:
    """The figures that would have been lower, whatever the course."""
    recorded, computed = answer["recorded"], answer["computed"]
    most = 100 - SAVES_PERCENT
    return [one for one, amount in recorded.items() if amount and computed[one][1] * 100 <= amount * most]


def _line(answer: Mapping[str, Any]) -> str:
    saved = _saved(answer)
    costs = [one for one, amount in answer["recorded"].items() if answer["computed"][one][1] > amount]
    parts = ["; ".join(instead_of(answer, figure) for figure in some) for some in (saved, costs) if some]
    return f"With {answer['title']}: {'; but '.join(parts)}"


def _evidence(answer: Mapping[str, Any]) -> str:
    left_out = sum(answer["left_out"].values())
    beside = f", {left_out:,} left out" if left_out else ""
    return f"{counted(answer['recorded']['rebalances'], 'rebalance')} computed{beside}"
