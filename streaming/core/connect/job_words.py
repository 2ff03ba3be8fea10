"""One word for how a connector or task is, from who holds it and from its latest status: what people count by.

running, failed, paused, stopped, restarting   as its holder says
starting                                       held, and its holder has not said anything of it yet
unassigned                                     nobody holds it, and the last status, if any, says that it was stopped
lost                                           nobody holds it, and its last worker went away without stopping it
unknown                                        held, and the status topic has never told of it
"""

from collections.abc import Collection

from rebalance_monitor.streaming.core.connect.statuses.facts import RESTARTING, STARTED, UNASSIGNED

WORDS = ("running", "failed", "paused", "stopped", "restarting", "starting", "unassigned", "lost", "unknown")


def word_of(assigned: Collection[str], state: str | None, worker: str | None) -> str:
    """The word for a job with these holders, whose latest status is `state`, written by `worker` (None: no status)."""
    if not assigned:
        return "lost" if state in STARTED or state == RESTARTING else "unassigned"
    if state is None:
        return "unknown"
    word = state.lower()
    return word if worker in assigned and state != UNASSIGNED and word in WORDS else "starting"
