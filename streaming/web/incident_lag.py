"""What an incident leaves unread, by the last sample of its group's offsets. Pure.

partitions that it names     their lag           members that it names     the lag of what these hold
neither                      that of the group
"""

from collections.abc import Iterable
from typing import Any

Object = dict[str, Any]


def incident_lag(incident: Object, progress: Object) -> Object:
    """`incident`, `progress`: the published objects."""
    named = {
        kind: {one["id"] for one in incident["subjects"] if one["type"] == kind} for kind in ("partition", "member")
    }
    answered_ms = progress["answered_ms"]
    if named["partition"]:
        own = [one for one in progress["partitions"] if one["partition"] in named["partition"]]
        told = _sum(own)
        known = sum(one["lag"] is not None for one in own)
        if known < len(named["partition"]):  # of one it is not known, or it has so little that it is left out
            told["records"] = None
        return {"of": "partitions", **told, "answered_ms": answered_ms}
    members = [one for one in progress["members"] if one["member"] in named["member"]]
    if members:
        # Partitions with little lag may be left out of a large group's object, so records come from the members.
        known = any(one["unknown"] < one["partitions"] for one in members)
        records = sum(one["lag"] for one in members) if known else None
        own = [one for one in progress["partitions"] if one["member"] in named["member"]]
        return {"of": "members", **_sum(own), "records": records, "answered_ms": answered_ms}
    return {
        "of": "group",
        "records": progress["lag"],
        "lag_ms": progress["lag_ms"],
        "at_least": progress.get("at_least", False),
        "answered_ms": answered_ms,
    }


def _sum(partitions: Iterable[Object]) -> Object:
    known = [one for one in partitions if one["lag"] is not None]
    times = [one["lag_ms"] for one in known if one["lag_ms"] is not None]
    return {
        "records": sum(one["lag"] for one in known) if known else None,
        "lag_ms": max(times, default=None),
        "at_least": any(one.get("at_least", False) for one in known),
    }
