"""The laws of groups with targets, by name."""

from enum import Enum, auto


class Law(Enum):
    """What a finding breaks; what is found at one moment is told in this order. Which of them hold of a kind of group,
    and under which rule, says the table in `rules`."""

    SEVERAL_HOLDERS = auto()
    """What one member alone may hold is assigned to, or pending revocation from, more than one."""
    SEVERAL_TARGETS = auto()
    """What one member alone may hold stands in more than one target."""
    EPOCH_ORDER = auto()
    """A member is ahead of the assignment epoch, or that of the group epoch."""
    EPOCH_DECREASED = auto()
    """The group or assignment epoch went back, or a member's."""
    PREVIOUS_AHEAD = auto()
    """A member states a previous epoch above its own."""
    STABLE_UNLIKE_TARGET = auto()
    """A member is stable at the newest epoch and holds something else than its target."""
    SHARED_UNLIKE_TARGET = auto()
    """The same of a member that shares partitions, as far as it subscribes to them and they have share state."""
    PENDING_UNLIKE_STATE = auto()
    """A member has something to revoke though it should not, or nothing though it should."""
    STATE_UNKNOWN = auto()
    """A member is in a state that no known release has."""
    UNLIKE_BEFORE = auto()
    """A member lost what its target names, or gained something while it revokes."""
    UNRELEASED_HOLDS_ALL = auto()
    """A member waits although it holds its target, or holds something else."""
    COPIES_TOGETHER = auto()
    """One process holds two copies of a task."""
    TARGET_COPIES_TOGETHER = auto()
    """The targets of one process hold two copies of a task."""
    WARM_UP_ALONE = auto()
    """A task warms up that nobody is to run."""
    TARGET_INCOMPLETE = auto()
    """A partition of a subscribed topic, or a task of the topology, stands in no target."""
    STUCK_REVOKING = auto()
    """A member has not revoked for longer than its rebalance time-out."""
    LAGGING = auto()
    """A member did not move to the newest epoch for longer than its session time-out."""
    WAITING_LONG = auto()
    """A member waits for longer than those who hold what it waits for may take."""
    NO_TARGET = auto()
    """The group needs a target and got none for longer than any member may take to ask for it."""
