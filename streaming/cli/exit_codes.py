"""How every command ends; docs/running.md says the same. On SIGTERM the shell sees 143, as ever."""

DONE = 0
"""Nothing found."""
FOUND = 1
BAD_INPUT = 2
"""Usage, configuration, connection or unreadable input."""
CANNOT_TELL = 3
INTERNAL = 4
NOT_YET = 5
"""`wait`: its time is over."""
INTERRUPTED = 130
"""SIGINT."""
ENDED = 143
"""SIGTERM, and a child whose parent has gone."""


class InputError(Exception):
    """What the user can mend, in one sentence: what, where and what to do. It ends the command with BAD_INPUT."""
