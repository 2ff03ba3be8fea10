"""The rolling restarts that a change needs, as the command tells them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.durations import exact
from rebalance_monitor.streaming.stories.known import Published
from .change import CannotPredict
from .connect_history import ConnectSetting
from .connect_rolling import rolling_restart
from .consumer_migration import migration
from .consumer_rolling import rolling_restarts
from .consumer_targets import CONSUMER_PROTOCOL, USUAL_ASSIGNOR
from .history import least_and_most
from .rolling import OF_A_STEP, RollingRestart


def restarts_object(
    generations: Sequence[Published], assignor: str | None, connect: ConnectSetting, *, there: bool
) -> dict[str, Any]:
    """For programs. `there`: members are in the group now. WrongChange."""
    try:
        if not there or not generations:
            raise CannotPredict("nobody is in the group")
        if connect.protocol == CONSUMER_PROTOCOL:
            found = [migration(generations, assignor or USUAL_ASSIGNOR, connect.release)]
        elif assignor is not None:
            found = rolling_restarts(generations, assignor, connect.release)
        else:
            found = [rolling_restart(generations, connect)]
    except CannotPredict as why:
        return {"rolling": [], "why_not": str(why)}
    return {"rolling": [_object(one) for one in found], "why_not": None}


def _object(restart: RollingRestart) -> Mapping[str, Any]:
    return {
        "title": restart.title,
        "away_ms": restart.away_ms,
        "presumed": restart.presumed,
        "steps": [
            {"member": one.member, "then": one.then}
            | {figure: list(least_and_most(one.courses, figure)) for figure in OF_A_STEP}
            for one in restart.steps
        ],
    }


def restart_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """The object for people."""
    if told["why_not"] is not None:
        yield f"rolling restarts: cannot tell: {told['why_not']}"
    for restart in told["rolling"]:
        away = f", each away for {exact(restart['away_ms'])}" if restart["away_ms"] else ""
        yield f"{restart['title']}{away}:"
        for one in restart["steps"]:
            idle = f", {_range(one['idle_ms'], 1000)} s without a worker" if restart["away_ms"] else ""
            yield (
                f"  {one['member']}: {_rebalances(one['rebalances'])}, moves {_range(one['moved'])}, stops"
                f" {_range(one['stopped'])}{idle}; then {one['then']}"
            )
    yield from dict.fromkeys(f"Presumed: {restart['presumed']}." for restart in told["rolling"])


def _rebalances(between: Sequence[int]) -> str:
    return counted(between[0], "rebalance") if between[0] == between[1] else f"{_range(between)} rebalances"


def _range(between: Sequence[int], unit: int = 1) -> str:
    least, most = (f"{amount / unit:,.0f}" for amount in between)
    return least if least == most else f"{least} to {most}"
