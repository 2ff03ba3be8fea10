"""Port numbers: a named block for the demo, free ones for tests."""

import random
import socket
from collections.abc import Sequence
from contextlib import ExitStack

from lab.errors import LabError

HOST = "127.0.0.1"
LAST_PORT = 65_535
CANDIDATES = range(22_000, 32_000)


def free_ports(count: int) -> list[int]:
    """`count` different ports that are free now; all are held until the last is found, so none comes twice.

    Chosen at random below the range from which the system numbers outgoing connections: until a program that was just
    started listens on its port, no client's connection may take it, and two runs at once hardly choose the same.
    """
    with ExitStack() as held:
        found: list[int] = []
        for port in random.sample(CANDIDATES, len(CANDIDATES)):
            if len(found) == count:
                break
            sock = held.enter_context(socket.socket())
            try:
                sock.bind((HOST, port))
            except OSError:
                continue
            found.append(port)
        if len(found) < count:
            raise LabError(
                f"fewer than {count} ports of {HOST} from {CANDIDATES.start} on are free; end what holds them"
            )
        return found


def require_free(ports: Sequence[int], advice: str) -> None:
    """Raise one sentence naming the first port that is none, or that something else listens on."""
    for port in ports:
        if not 0 < port <= LAST_PORT:
            raise LabError(f"{port} is no port; ports go from 1 to {LAST_PORT}, and {len(ports)} are needed in a row")
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((HOST, port))
            except OSError as error:
                raise LabError(f"port {port} on {HOST} is taken ({error.strerror}); {advice}") from None


def accepts(port: int, timeout_s: float = 0.3) -> bool:
    """Whether something accepts connections on the port."""
    try:
        with socket.create_connection((HOST, port), timeout=timeout_s):
            return True
    except OSError:
        return False
