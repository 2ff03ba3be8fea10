"""What of a group a record states, whatever the group's protocol."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import TypeAlias


class StatedPart(Enum):
    """A part of a group that one type of record states; its tombstone takes that part away."""

    EPOCH = auto()
    ASSIGNED = auto()
    MEMBER = auto()
    TARGET = auto()
    CURRENT = auto()
    METADATA = auto()
    REGEX = auto()
    TOPOLOGY = auto()
    SHARE_STATES = auto()


Parts: TypeAlias = Mapping[int, StatedPart]
"""What the records of one kind of group state, by their types; records of other types change nothing."""
OF_MEMBERS = (StatedPart.MEMBER, StatedPart.TARGET, StatedPart.CURRENT)
