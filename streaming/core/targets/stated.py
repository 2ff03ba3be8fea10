"""What of a group a record states, whatever the group's protocol."""

from enum import Enum, auto


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


OF_MEMBERS = (StatedPart.MEMBER, StatedPart.TARGET, StatedPart.CURRENT)
