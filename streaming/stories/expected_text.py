"""What is expected of a group and whether it is met, in words."""

from rebalance_monitor.streaming.core.model.messages import counted, utc
from .known import Published


def expected_text(group: Published) -> str:
    """A group's expectations in one line, from its object of the API; "" where nothing is expected."""
    return "; ".join(f"{_limit(one)} ({_outcome(one)})" for one in group.get("expected", ()))


def _limit(one: Published) -> str:
    limit: int = one["limit"]
    match one["what"]:
        case "members_at_least":
            return f"at least {counted(limit, 'member')}"
        case "lag_s":
            return f"no unread record older than {limit} s"
        case _:
            return f"at most {counted(limit, 'rebalance')} within an hour"


def _outcome(one: Published) -> str:
    if one["met"] is None:
        return "nobody can tell"
    has = "" if one["has"] is None else f"has {one['has']}{' s' if one['what'] == 'lag_s' else ''}"
    if one["met"]:
        return has or "met"
    since = "" if one["since_ms"] is None else f" since {utc(one['since_ms'])}"
    return f"{has or 'has more'}{since}"
