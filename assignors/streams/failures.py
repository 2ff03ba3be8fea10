"""How a leader's computation ends without an answer."""


class LeaderFailed(Exception):
    """Kafka's class throws here: `exception` is the simple name of the Java exception, `reason` says why."""

    def __init__(self, exception: str, reason: str) -> None:
        super().__init__(f"{exception}: {reason}")
        self.exception = exception
        self.reason = reason


def illegal_state(reason: str) -> LeaderFailed:
    """An `IllegalStateException`: the leader's thread ends."""
    return LeaderFailed("IllegalStateException", reason)


def illegal_argument(reason: str) -> LeaderFailed:
    """An `IllegalArgumentException`: the leader's thread ends."""
    return LeaderFailed("IllegalArgumentException", reason)
