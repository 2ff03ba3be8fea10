"""Connect's eager assignor (protocol `default`): every round deals everything anew and remembers nothing.

Connectors first, then tasks, go round robin over the members sorted by id; the deal of the tasks continues where the
connectors stopped. With members a, b and connectors x (2 tasks), y (1 task) the deal is:

    x -> a,  y -> b,  x-0 -> a,  x-1 -> b,  y-0 -> a
"""

from rebalance_monitor.assignors.java_order import sorted_names
from .model import ConnectResult, ConnectRound, Jobs, MemberShare
from .round import configured_jobs, open_answer

VERSION = 0


def assign(round_: ConnectRound) -> ConnectResult:
    """Full shares for all members, lists in the order dealt; held jobs and the clock play no part."""
    answer = open_answer(round_, VERSION)
    if answer.snapshot is None:
        return answer.mismatch(round_)
    jobs = configured_jobs(answer.snapshot)
    ids = sorted_names({member.id for member in round_.members})
    shares: dict[str, MemberShare] = {}
    for seat, member_id in enumerate(ids):
        first_task = (seat - len(jobs.connectors)) % len(ids)
        dealt = Jobs(jobs.connectors[seat :: len(ids)], jobs.tasks[first_task :: len(ids)])
        shares[member_id] = MemberShare(dealt)
    return answer.result(shares)
