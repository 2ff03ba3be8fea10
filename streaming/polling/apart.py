"""A process of its own that asks brokers for offsets.

Where a request to a group's coordinator times out while the broker comes back, librdkafka ends the process that it is
in (the assertion of its issue 4605). Asked in a process of its own it costs one request, and the job goes on.

    poller's thread   question -> pipe -> child: librdkafka -> pipe -> answer, GroupRefused or PartFailed
    child gone        PartFailed; the next question starts another one
    job gone          the pipe ends, and so does the child
"""

import os
import socket
import subprocess
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from rebalance_monitor.streaming.supervision import PartFailed
from .admin import REQUEST_TIMEOUT_S
from .asking_progress import EndsAnswer, GroupRefused, KafkaProgress, NamedPartition

ANSWERED_WITHIN_S = 4 * REQUEST_TIMEOUT_S
"""A start, a connection, and a request with its time-out."""
_AGAIN_IN_S = 1.0


class OffsetsApart:
    """`KafkaProgress` in a child; used by one thread at a time."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._client = dict(client)
        self._child: subprocess.Popen[bytes] | None = None
        self._pipe: Connection[Any, Any] | None = None
        self._ended = False

    def committed(self, group: str) -> Mapping[NamedPartition, int]:
        return self._asked("committed", group)  # type: ignore[no-any-return]

    def ends(self, partitions: Collection[NamedPartition]) -> EndsAnswer:
        return self._asked("ends", list(partitions))  # type: ignore[no-any-return]

    def close(self) -> None:
        """Ends the child. A question under way fails, and a later one starts no other."""
        self._ended = True
        self._end_child()

    def _end_child(self) -> None:
        pipe, child = self._pipe, self._child
        self._pipe = self._child = None
        if pipe is not None:
            pipe.close()
        if child is not None:
            child.kill()
            child.wait()

    def _asked(self, question: str, given: object) -> Any:
        try:
            pipe = self._running()
            pipe.send((question, given))
            if not pipe.poll(ANSWERED_WITHIN_S):
                raise TimeoutError
            answer = pipe.recv()
        except (EOFError, OSError) as why:  # a time-out is one, too
            self._end_child()
            raise PartFailed(
                "the process that asks brokers for offsets gave no answer; another one is started", _AGAIN_IN_S
            ) from why
        if isinstance(answer, GroupRefused | PartFailed):
            raise answer
        return answer

    def _running(self) -> "Connection[Any, Any]":
        if self._ended:
            raise EOFError
        if self._pipe is None:
            ours, theirs = socket.socketpair()
            with theirs:
                number = theirs.fileno()
                child = self._child = subprocess.Popen(  # in a session of its own: Ctrl-C is the job's to answer
                    [sys.executable, "-P", "-m", __name__, str(number)],
                    pass_fds=(number,),
                    start_new_session=True,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))},
                )
            self._pipe = Connection(ours.detach())
            if self._ended:  # meanwhile, and who ended it saw no child yet
                child.kill()
                raise EOFError
            self._pipe.send(self._client)
        return self._pipe


def answer(pipe: "Connection[Any, Any]") -> None:
    """The child: until the pipe ends. The first message is what the client is configured with: not an argument, which
    everyone on the machine could read."""
    asked = KafkaProgress(pipe.recv())
    while True:
        question, given = pipe.recv()
        try:
            found: Any = getattr(asked, question)(given)
        except (GroupRefused, PartFailed) as why:
            found = why
        except Exception as why:  # the text of a library may hold an address with a password
            found = PartFailed(f"the brokers could not be asked for offsets ({type(why).__name__})")
        pipe.send(found)


if __name__ == "__main__":
    with suppress(EOFError, ConnectionError):  # the job has ended
        answer(Connection(int(sys.argv[1])))
