"""An operating-system process in virtual time: its steps come later if it is frozen, never if it has ended."""

from collections.abc import Callable

from lab.simulated.queue import Queue, Step


class Process:
    """Base of a worker. Steps that come due during a freeze are done right after it, in their order."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.ended = False
        self.frozen = False
        self.thawed_ms = float("-inf")
        self.frozen_ms = 0.0
        self._held: list[Step] = []

    def later(self, delay_ms: float, step: Step) -> None:
        self.queue.after(delay_ms, lambda: self._do(step))

    def _do(self, step: Step) -> None:
        if self.ended:
            return
        if self.frozen:
            self._held.append(step)
        else:
            step()

    def answer(self, receive: Callable[[object], None]) -> Callable[[object], None]:
        """Receives the reply to a request one trip after it left."""
        return lambda reply: self.later(self.queue.trip(), lambda: receive(reply))

    def hold(self) -> None:
        """SIGSTOP."""
        if not self.frozen:
            self.frozen, self.frozen_ms = True, self.queue.now_ms

    def go_on(self) -> None:
        """SIGCONT."""
        self.frozen = False
        self.thawed_ms = self.queue.now_ms
        held, self._held = self._held, []
        delay_ms = 0.0
        for step in held:
            delay_ms += self.queue.between(0.1, 5.0)
            self.later(delay_ms, step)
