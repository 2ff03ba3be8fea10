"""How far the clients of an application are behind on a task."""

from collections.abc import Sequence

from .application import RUNNING, UNBOUNDED_LAG


class Standing:
    """How far each client is behind on one task."""

    __slots__ = ("_by_lag", "_clients", "_end", "_known", "caught_up", "least_lag")

    def __init__(self, known: dict[int, int], end: int, clients: int, acceptable: int) -> None:
        self._known = known
        self._end = end
        self._clients = clients
        self._by_lag: list[int] = []
        strangers = len(known) < clients
        self.least_lag = min(known.values(), default=end)
        if strangers:
            self.least_lag = min(self.least_lag, end)
        if acceptable == UNBOUNDED_LAG:
            self.caught_up = frozenset(range(clients))
        elif strangers and 0 <= end <= acceptable:
            self.caught_up = frozenset(range(clients)) - {
                client for client, lag in known.items() if lag != RUNNING and not 0 <= lag <= acceptable
            }
        else:
            self.caught_up = frozenset(
                client for client, lag in known.items() if lag == RUNNING or 0 <= lag <= acceptable
            )

    def lag(self, client: int) -> int:
        """The client's lag; a client without state lags the whole changelog."""
        return self._known.get(client, self._end)

    def by_lag(self) -> Sequence[int]:
        """All clients, least lag first, then by process id."""
        if not self._by_lag:
            self._by_lag = sorted(range(self._clients), key=self.lag)
        return self._by_lag
