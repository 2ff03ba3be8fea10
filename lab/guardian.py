"""Ends what a lab started when the lab itself died without cleaning up.

Reads lines from its standard input, which only the lab holds open: `session <pid>`, `postgres <data folder>`,
`dismissed`. At the end of input, without `dismissed`, it ends the sessions and stops the database.
"""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

from lab.sessions import end_session, members


def main() -> int:
    """Wait for the end of input, then clean up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sessions: list[int] = []
    databases: list[Path] = []
    for line in sys.stdin:
        kind, _, rest = line.strip().partition(" ")
        if kind == "dismissed":
            return 0
        if kind == "session":
            sessions.append(int(rest))
        if kind == "postgres":
            databases.append(Path(rest))
    for session in reversed(sessions):
        for pid in members(session):
            with suppress(OSError):
                os.kill(pid, signal.SIGTERM)
        end_session(session)
    if databases:
        from lab.cluster.postgres import stop_server

        for data in databases:
            stop_server(data)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
