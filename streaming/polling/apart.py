"""A process of its own that asks brokers for offsets.

Where a request to a group's coordinator times out while the broker comes back, librdkafka ends the process that it is
in (the assertion of its issue 4605). Asked in a process of its own it costs one request, and the job goes on.

    poller's thread   question -> pipe -> child: librdkafka -> pipe -> answer, GroupRefused or PartFailed
    child gone        PartFailed; the next question starts another one
    job gone          the pipe ends, and so does the child
"""

import multiprocessing
import signal
from collections.abc import Collection, Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
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
        self._child: SpawnProcess | None = None
        self._pipe: Connection[Any, Any] | None = None

    def committed(self, group: str) -> Mapping[NamedPartition, int]:
        """As `KafkaProgress.committed`."""
        return self._asked("committed", group)  # type: ignore[no-any-return]

    def ends(self, partitions: Collection[NamedPartition]) -> EndsAnswer:
        """As `KafkaProgress.ends`."""
        return self._asked("ends", list(partitions))  # type: ignore[no-any-return]

    def close(self) -> None:
        """Ends the child."""
        if self._pipe is not None:
            self._pipe.close()
        if self._child is not None:
            self._child.kill()
            self._child.join()
        self._child = self._pipe = None

    def _asked(self, question: str, given: object) -> Any:
        try:
            pipe = self._running()
            pipe.send((question, given))
            if not pipe.poll(ANSWERED_WITHIN_S):
                raise TimeoutError
            answer = pipe.recv()
        except (EOFError, OSError) as why:  # a time-out is one, too
            self.close()
            raise PartFailed(
                "the process that asks brokers for offsets gave no answer; another one is started", _AGAIN_IN_S
            ) from why
        if isinstance(answer, GroupRefused | PartFailed):
            raise answer
        return answer

    def _running(self) -> "Connection[Any, Any]":
        if self._pipe is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, theirs = context.Pipe()
            self._child = context.Process(target=answer, args=(theirs, self._client), name="offsets", daemon=True)
            self._child.start()
            theirs.close()
        return self._pipe


def answer(pipe: "Connection[Any, Any]", client: Mapping[str, str]) -> None:
    """The child: until the pipe ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes; whoever asks ends this one
    asked = KafkaProgress(client)
    while True:
        try:
            question, given = pipe.recv()
        except EOFError:
            return
        try:
            found: Any = getattr(asked, question)(given)
        except (GroupRefused, PartFailed) as why:
            found = why
        except Exception as why:  # the text of a library may hold an address with a password
            found = PartFailed(f"the brokers could not be asked for offsets ({type(why).__name__})")
        pipe.send(found)
