"""How many processes a plug-in starts in one call, counted where Python starts them.

The keeper counts what runs, now and then: what ends between two looks it does not see, and a few more may have been
started when it looks. This count is exact, so the same call ends alike every time. It does not see what starts without
Python; that is the keeper's.
"""

import mmap
import struct
import sys

from .wire import MOST_PROCESSES

_STARTS = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"})
"""Audit events of Python (https://docs.python.org/3/library/audit_events.html)."""
_COUNT = struct.Struct("I")


class TooManyStarted(BaseException):
    """The call has started more processes than it may."""


class Starts:
    """The count, which all copies of this process share."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, _COUNT.size)
        sys.addaudithook(self._note)

    def begin(self) -> None:
        """A call follows."""
        _COUNT.pack_into(self._shared, 0, 0)

    @property
    def too_many(self) -> bool:
        """Whether the call has tried to start more than it may."""
        (count,) = _COUNT.unpack_from(self._shared)
        return bool(count > MOST_PROCESSES)

    def _note(self, event: str, _arguments: tuple[object, ...]) -> None:
        if event in _STARTS:
            if not self.too_many:
                _COUNT.pack_into(self._shared, 0, _COUNT.unpack_from(self._shared)[0] + 1)
            if self.too_many:
                raise TooManyStarted
