"""One line of a broker's log: why the coordinator began a rebalance of a classic group.

    Preparing to rebalance group G in state S with old generation N (__consumer_offsets-P) (reason: R)    2.8 to 3.x
    Preparing to rebalance group G in state S with old generation N (reason: R).                          4.0 and later

G and R hold what clients choose, these very words too. A line that can be read in two ways says nothing. Source:
`GroupCoordinator.scala`, `GroupMetadataManager.java`, and lines of real brokers in `tests/vectors/coordinator-log`.
"""

import json
import re
from collections import OrderedDict
from dataclasses import dataclass, replace
from enum import StrEnum

LONGEST_TEXT = 600
LONGEST_REASON = 255
"""Characters of a client's reason; Kafka's own clients send no longer one (KIP-800)."""
LONGEST_NAME = 1_000
"""Characters of a group id, a member id or an instance id; a line with a longer one is passed over."""
LONGEST_LINE = 16_000
DEPARTURES = 10_000


class Began(StrEnum):
    """What made the coordinator begin a rebalance."""

    JOINED = "member_joined"
    LEFT = "member_left"
    EXPIRED = "heartbeat_expired"
    NOT_SYNCED = "sync_expired"
    UPDATED = "metadata_updated"
    REPLACED = "static_member_replaced"
    PROTOCOL = "protocol_changed"
    REJOINED = "member_rejoined"
    LEADER = "leader_rejoined"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorReason:
    """Why the rebalance began that ended generation `old_generation` of a group.

    `partition`: of `__consumer_offsets`, None where the line does not say it. `text`: the coordinator's reason, cut to
    `LONGEST_TEXT`. `member_id` is None where there is none, or several.
    """

    group: str
    old_generation: int
    partition: int | None
    kind: Began
    text: str
    member_id: str | None = None
    instance_id: str | None = None
    client_reason: str | None = None


_BEGINS = "Preparing to rebalance group "
_MIDDLE = re.compile(
    r" in state [A-Z][A-Za-z]{2,30} with old generation (\d{1,10})(?: \(__consumer_offsets-(\d{1,6})\))? \(reason: "
)
_END = re.compile(r"\)\.?(?: \([\w.$-]{1,200}\))?\s*$")
_COORDINATOR = re.compile(r"\[GroupCoordinator [^\[\]]{1,200}\]:? $")
"""What stands directly before the coordinator's own words, in every layout: it is of the message."""
_OTHER_LINE = re.compile(r"(?:^|[ \[(])(?:groups?|GroupId|members?|id|transactionalId) |clientId=", re.IGNORECASE)
"""What stands before a group's or a client's own words in every other line, of the coordinator and of others."""
_CLASS = re.compile(r"(?:[\w.$-]*\.)?(?:GroupCoordinator|GroupMetadataManager)")
"""Who writes these lines, however a layout cuts the package."""
_PARTITION = re.compile(r" partition=(\d{1,6})\]:? $")
_UUID = r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = rf".{{0,600}}?{_UUID}"
_SEVERAL = re.compile(rf"{_UUID}, ")
_SAYS = "; client reason: "
_CLIENT = r"(?:; client reason: (?P<client>.*))?"
_INSTANCE = r"(?P<instance>.{1,600}?)"
_REASONS: tuple[tuple[Began, re.Pattern[str], re.Pattern[str]], ...] = tuple(
    # The shortest and the longest names that fit.
    (kind, re.compile(pattern, re.DOTALL), re.compile(pattern.replace(",600}?-", ",600}-"), re.DOTALL))
    for kind, pattern in (
        (Began.JOINED, rf"Adding new member (?P<member>{_ID}) with group instance id {_INSTANCE}{_CLIENT}"),
        (Began.EXPIRED, rf"[Rr]emoving member (?P<member>{_ID}) on heartbeat expiration\.?"),
        (Began.LEFT, rf"[Rr]emoving member (?P<member>{_ID}) on LeaveGroup{_CLIENT}"),
        (Began.LEFT, rf"explicit `LeaveGroup` request for \((?P<member>{_ID})\) members\."),
        (Began.LEFT, r"explicit `LeaveGroup` request for \(.*\) members\."),
        (
            Began.REPLACED,
            rf"Updating metadata for static member (?P<member>{_ID}) with instance id {_INSTANCE}{_CLIENT}",
        ),
        (
            Began.PROTOCOL,
            rf"Group's selectedProtocol will change because static member (?P<member>{_ID}) with instance id"
            rf" {_INSTANCE} joined with change of protocol{_CLIENT}",
        ),
        (Began.UPDATED, rf"Updating metadata for member (?P<member>{_ID})(?: during [A-Za-z]+)?{_CLIENT}"),
        (Began.LEADER, rf"[Ll]eader (?P<member>{_ID}) re-joining group during [A-Za-z]+{_CLIENT}"),
        (Began.REJOINED, rf"Member (?P<member>{_ID}) (?:is )?joining group during [A-Za-z]+{_CLIENT}"),
        (Began.NOT_SYNCED, r"Removing (?:HashSet|Set)\((?P<member>.*)\) on pending sync request expiration"),
        (Began.NOT_SYNCED, r"Removing \[(?P<member>.*)\] on pending sync request expiration"),
    )
)
_ONE_ID = re.compile(_ID, re.DOTALL)
_LEFT = re.compile(
    rf"\[Group (?P<group>.+)\] Member (?P<member>{_ID}) has left group through explicit `LeaveGroup` request;"
    r" client reason: (?P<client>.*)$",
    re.DOTALL,
)
_LOGGER = re.compile(r" \(([\w.$-]{1,200})\)\s*$")
NOT_PROVIDED = "not provided"


def parse(line: str) -> CoordinatorReason | None:
    """None for every other line, and for one that can be read in several ways. Never raises."""
    text = _message(line, _BEGINS)
    place = text.find(_BEGINS)
    if place < 0 or len(text) > LONGEST_LINE or not _of_coordinator(text, place):
        return None
    end = _END.search(text)
    middles = list(_MIDDLE.finditer(text, place + len(_BEGINS)))
    if end is None or len(middles) != 1:
        return None
    (middle,) = middles
    group, reason = text[place + len(_BEGINS) : middle.start()], text[middle.end() : end.start()]
    number, partition = int(middle[1]), middle[2]
    if not group or len(group) > LONGEST_NAME or number >= 2**31 or middle.end() > end.start():
        return None
    if partition is None and (said := _PARTITION.search(text, 0, place)) is not None:
        partition = said[1]
    return _with_reason(group, number, None if partition is None else int(partition), reason)


def _of_coordinator(text: str, place: int) -> bool:
    """Whether what begins there are words of the coordinator, not of a client in a line of anybody."""
    logger = _LOGGER.search(text)
    named = logger is None or _CLASS.fullmatch(logger[1]) is not None
    begins = _COORDINATOR.search(text, 0, place)
    return named and begins is not None and _OTHER_LINE.search(text, 0, begins.start()) is None


def _message(line: str, marker: str) -> str:
    """The text itself where the line is a JSON object, as of a JSON layout, of a container's log or of a log shipper;
    also where one of these holds another. Empty where an object names another logger."""
    if not line.startswith("{") or marker not in line:
        return line
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return line
    loggers = [one for name, one in told.items() if "logger" in name.lower() and isinstance(one, str)]
    if any(_CLASS.fullmatch(one) is None for one in loggers):
        return ""
    return _message(next((one for one in told.values() if isinstance(one, str) and marker in one), ""), marker)


def _with_reason(group: str, number: int, partition: int | None, reason: str) -> CoordinatorReason:
    kind, named = _read(reason)
    member = named.get("member")
    return CoordinatorReason(
        group=group,
        old_generation=number,
        partition=partition,
        kind=kind,
        text=reason[:LONGEST_TEXT],
        member_id=member if member and _ONE_ID.fullmatch(member) and not _SEVERAL.search(member) else None,
        instance_id=_instance(named.get("instance")),
        client_reason=_given(named.get("client")),
    )


def _read(reason: str) -> tuple[Began, dict[str, str | None]]:
    """What is named in it: nothing where the shortest and the longest names that fit are not the same, as with a client
    whose own words look like the coordinator's."""
    for kind, shortest, longest in _REASONS:
        found, other = shortest.fullmatch(reason), longest.fullmatch(reason)
        if found is not None:
            named = found.groupdict()
            plain = other is not None and other.groupdict() == named and reason.count(_SAYS) < 2
            return kind, named if plain else {}
    return Began.OTHER, {}


def _instance(said: str | None) -> str | None:
    """`null` and `None` are how Java and Scala write a dynamic member's."""
    if said is None or said in ("null", "None"):
        return None
    return said[5:-1] if said.startswith("Some(") and said.endswith(")") else said


def _given(client: str | None) -> str | None:
    return None if client is None or client in ("", NOT_PROVIDED) else client[:LONGEST_REASON]


class CoordinatorLog:
    """Reads the lines of one file in order: since 4.0 what a client says of its leaving stands in the line before."""

    def __init__(self) -> None:
        self._left: OrderedDict[tuple[str, str], str] = OrderedDict()

    def read(self, line: str) -> CoordinatorReason | None:
        """As `parse`, with what the lines before have told."""
        if "explicit `LeaveGroup` request; client reason: " in line:
            self._leaves(_message(line, " has left group "))
            return None
        found = parse(line)
        if found is None or found.kind != Began.LEFT or found.member_id is None:
            return found
        client = self._left.pop((found.group, found.member_id), None)
        return found if client is None or found.client_reason is not None else replace(found, client_reason=client)

    def _leaves(self, text: str) -> None:
        place = text.find("[Group ")
        said = place >= 0 and _of_coordinator(text, place)
        left = _LEFT.match(_LOGGER.sub("", text), place) if said else None
        client = None if left is None else _given(left["client"].strip())
        if left is None or client is None:
            return
        self._left[left["group"], left["member"]] = client
        if len(self._left) > DEPARTURES:
            self._left.popitem(last=False)
