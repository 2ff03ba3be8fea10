"""What the sticky assignors of plain consumers put into the user data of a subscription.

`sticky` repeats the member's whole previous assignment, since release 2.3 with the generation it is from (version 1;
nothing in the bytes says which version they are). `cooperative-sticky` sends the generation alone, since release 3.0.
A leader forgives everything here: bytes it can't read count as "no partitions, generation -1".
"""

from collections.abc import Callable
from dataclasses import dataclass

from .compiled import row_reader
from .consumer_protocol import TopicPartition
from .errors import SchemaError, unreadable
from .layouts import Array, Field, Group, Kind, Layout, Values
from .outcomes import Decoded, Outcome
from .struct_writers import writer

STICKY, COOPERATIVE_STICKY = "sticky", "cooperative-sticky"
UNREADABLE_GENERATION = -1
GENERATION_BYTES = 4
"""What Kafka's own `cooperative-sticky` sends since 2.8.1: a generation."""


@dataclass(frozen=True, slots=True)
class StickyUserData:
    """Partitions in wire order; `generation` is None where the version lacks it or nothing was sent."""

    partitions: tuple[TopicPartition, ...] = ()
    generation: int | None = None


STICKY_USER_DATA = Layout(
    "StickyAssignorUserData",
    newest=1,
    fields=(
        Field(
            "previousAssignment",
            Array(Group((Field("topic", Kind.STRING), Field("partitions", Array(Kind.INT32))))),
        ),
        Field("generation", Kind.INT32, since=1),
    ),
)
COOPERATIVE_USER_DATA = Layout("CooperativeStickyAssignorUserData", fields=(Field("generation", Kind.INT32),))


def decode_sticky_user_data(raw: bytes | None, *, cooperative: bool = False) -> Outcome[StickyUserData]:
    """What a leader finds in a member's user data.

    For `sticky` version 1 is tried before version 0 and empty bytes mean nothing was sent; for `cooperative-sticky`
    only null does. Unreadable is what the leader takes for `StickyUserData((), UNREADABLE_GENERATION)`.
    """
    if raw is None or (not raw and not cooperative):
        return Decoded(StickyUserData())
    if cooperative:
        return _decode(_read_generation, raw)
    newest = _decode(_NEWEST, raw)
    return newest if isinstance(newest, Decoded) else _decode(_OLDER, raw)


def decode_what_is_left(raw: bytes | None, *, cooperative: bool = False) -> Outcome[StickyUserData]:
    """What a leader 2.5 to 2.8 finds when it reads the user data again: it goes on where its first attempt stopped,
    and that is where the bytes end or where version 1 failed."""
    if raw is None:
        return Decoded(StickyUserData())
    end = (4 if len(raw) >= 4 else 0) if cooperative else _end_of_version_1(raw)
    return decode_sticky_user_data(raw[end:], cooperative=cooperative)


def _end_of_version_1(raw: bytes) -> int:
    """The position after the last number that could be read as a whole, up to the first that makes no sense."""
    at = 0

    def number(size: int) -> int:
        nonlocal at
        if at + size > len(raw):
            return -1
        at += size
        return int.from_bytes(raw[at - size : at], "big", signed=True)

    topics = number(4)
    if topics > len(raw) - at:
        return at
    for _ in range(topics):
        length = number(2)
        if not 0 <= length <= len(raw) - at:
            return at
        at += length
        partitions = number(4)
        if not 0 <= partitions <= len(raw) - at:
            return at
        if at + 4 * partitions > len(raw):
            return len(raw) - (len(raw) - at) % 4
        at += 4 * partitions
    if topics >= 0:
        number(4)
    return at


_NEWEST = row_reader(STICKY_USER_DATA, 1, StickyUserData)
_OLDER = row_reader(STICKY_USER_DATA, 0, StickyUserData)
_COOPERATIVE = row_reader(COOPERATIVE_USER_DATA, 0)


def _decode(read: Callable[..., tuple[StickyUserData, int]], raw: bytes) -> Outcome[StickyUserData]:
    try:
        value, end = read(raw, 0)
    except SchemaError as why:
        return unreadable(why)
    return Decoded(value, len(raw) - end)


def _read_generation(raw: bytes, pos: int) -> tuple[StickyUserData, int]:
    (generation,), end = _COOPERATIVE(raw, pos)
    return StickyUserData((), generation), end


def encode_sticky_user_data(value: StickyUserData, *, cooperative: bool = False) -> bytes:
    """The bytes of `value`: version 0 without a generation, else version 1, topics in order of first appearance; for
    `cooperative-sticky` the generation alone, -1 for none. Raises SchemaError for a topic that doesn't fit."""
    by_topic: dict[str, list[int]] = {}
    for topic, number in value.partitions:
        by_topic.setdefault(topic, []).append(number)
    fields: Values = {
        "previousAssignment": [{"topic": topic, "partitions": numbers} for topic, numbers in by_topic.items()],
        "generation": UNREADABLE_GENERATION if value.generation is None else value.generation,
    }
    out = bytearray()
    if cooperative:
        writer(COOPERATIVE_USER_DATA, 0)(out, fields)
    else:
        writer(STICKY_USER_DATA, 0 if value.generation is None else 1)(out, fields)
    return bytes(out)
