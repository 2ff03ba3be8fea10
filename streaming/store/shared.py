"""What a generation has in common with others, and is stored once a day; the view `generations` puts both together.

From one generation to the next mostly its number, its place and its times change. Members' bytes hold the number too:
they are stored with zeros in its place. Short ones of one generation are stored together: a row for each is longer.

    stored with the row     numbers that have a column, and what tells of this rebalance: cause, diff, burst, …
    `content`               the rest of the document, and columns that say the same (`COLUMNS`): members, verdict, what
                            they should have
    `sent`                  for each member its subscription and assignment: [bytes in hex, places of the number], a
                            place being [where, number - generation]; or the name of long ones in `stored_assignments`
"""

import hashlib
import struct
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rebalance_monitor.streaming.core.fold.published import content_hash
from rebalance_monitor.streaming.core.model.published import Object
from rebalance_monitor.streaming.core.model.results import Generation
from .text import RANGES, json_text

COMMON = frozenset(
    (
        "kind", "cluster", "group", "incarnation", "lifecycle", "protocol_type", "protocol", "leader", "delay_ms",
        "stayed", "unassigned",
    )
)  # fmt: skip
"""Keys of the document that generations of a group have in common, beside those that say nothing."""
IN_COLUMNS = {"at_ms": "int8", "state_ms": "int8", "generation": "int4"}
COLUMNS = frozenset(("leader", "assignor"))
"""Columns that a row leaves empty: the view takes them from the content."""
PLACE = {"topic", "partition", "offset"}
ZEROS = bytes(4)
SHORT = 1_000
"""Up to so many bytes are stored together with those of the other members."""


@dataclass(frozen=True, slots=True)
class Parted:
    """A generation's document in parts: `own` goes into its row. `sent`: None where bytes of it did not come with it;
    `named`: the bytes that have to be in `stored_assignments`, and `held` those that are in `sent`."""

    own: Object
    content: str
    sent: str | None
    named: frozenset[str]
    held: frozenset[str]


def parted(generation: Generation, shown: Object, blobs: Mapping[str, bytes]) -> Parted:
    """`shown`: the generation's document; `blobs`: bytes that came with it, by name."""
    verdict = dict(shown["verdict"])
    expected = verdict.pop("expected")
    own, common = {}, {"verdict": verdict}
    for key, value in shown.items():
        if key in ("members", "verdict") or (key in IN_COLUMNS and _fits(value, IN_COLUMNS[key])):
            continue
        if key == "source" and value.keys() == PLACE and _fits(value["offset"], "int8"):
            common[key] = {"topic": value["topic"], "partition": value["partition"]}
        elif key in COMMON or value in (None, False, [], {}):
            common[key] = value
        else:
            own[key] = value
    content = json_text({"members": shown["members"], "expected": expected, "document": common})
    names = names_of(generation)
    used = frozenset(name for pair in names for name in pair if name is not None)
    if not used <= blobs.keys():
        return Parted(own, content, None, used, frozenset())
    whole = {name: _whole(name, blobs[name], generation.generation) for name in used}
    sent = [[None if name is None else whole[name] or name for name in pair] for pair in names]
    held = frozenset(name for name in used if whole[name])
    return Parted(own, content, json_text(sent), used - held, held)


def names_of(generation: Generation) -> list[tuple[str | None, str | None]]:
    """The names of what each member sent: subscription and assignment."""
    return [(one.subscription_hash or None, one.assignment_hash or None) for one in generation.members]


def hash_of(content: str) -> str:
    """What a content is named by: 96 bits in 16 characters, two of them stand in each generation's row."""
    return urlsafe_b64encode(hashlib.sha256(content.encode()).digest()[:12]).decode()


def _fits(value: Any, kind: str) -> bool:
    low, high = RANGES[kind]
    return value is None or (type(value) is int and low <= value <= high)


def _whole(name: str, blob: bytes, generation: int) -> list[Any] | None:
    """The bytes without the numbers of this generation and the one before; None where they are to be named."""
    apart: list[tuple[int, int]] = []
    for at, number in sorted((at, one) for one in (-1, 0) for at in _places(blob, generation + one)):
        if not apart or at >= apart[-1][0] + len(ZEROS):
            apart.append((at, number))
    if not (apart or len(blob) <= SHORT) or name != content_hash(blob):
        return None
    rest = bytearray(blob)
    for at, _ in apart:
        rest[at : at + 4] = ZEROS
    return [rest.hex(), apart]


def _places(blob: bytes, number: int) -> Iterator[int]:
    """Where it stands as four bytes."""
    if not 0 < number < 2**31:
        return
    wanted, at = struct.pack(">i", number), -1
    while (at := blob.find(wanted, at + 1)) >= 0:
        yield at
