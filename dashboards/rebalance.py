"""The post-mortem of one rebalance, from the database alone: why, who moved where, what waited, what it cost."""

from typing import Any

from . import post_mortem, tables
from .frames import assembled, frame, sql_values
from .panels import Panel, rows
from .places import REBALANCE as HERE


def rebalance() -> Any:
    base = frame(HERE, "One rebalance: cause, moves, waits, verdict and what it cost.", marks=tables.GROUP_SQL)
    for name, sql in (
        ("cluster", post_mortem.CLUSTERS_SQL),
        ("group", post_mortem.GROUPS_SQL),
        ("rebalance", post_mortem.REBALANCES_SQL),
    ):
        base = base.with_variable(sql_values(name, sql))
    return assembled(base, [("What and why", _why()), ("Who", _who()), ("What it cost", _cost())])


def _why() -> list[Panel]:
    return [
        rows(
            "The rebalance",
            post_mortem.SUMMARY_SQL,
            description="Its record, how its assignment compares with the recomputed one, and which event it is part "
            "of. final: nothing more will become known of it.",
            moments=("at",),
            units={"delay": "ms"},
        ),
        rows("Causes", post_mortem.CAUSES_SQL, description="Why it happened, how certain that is, and what shows it."),
        rows(
            "Incidents around it",
            post_mortem.AROUND_SQL,
            description="Open when it happened, or opened within ten minutes after it.",
            moments=("opened", "resolved"),
        ),
    ]


def _who() -> list[Panel]:
    return [
        rows(
            "Moves",
            post_mortem.MOVES_SQL,
            description="Connectors and tasks that moved in this rebalance, and how.",
            span=12,
        ),
        rows(
            "Before and after",
            post_mortem.WHO_SQL,
            description="What each member reported when it joined, had to give up, and was given.",
            span=12,
        ),
        rows(
            "Observed and expected",
            post_mortem.EXPECTED_SQL,
            description="What the recomputation gives each member, next to what the leader gave it.",
        ),
    ]


def _cost() -> list[Panel]:
    return [
        rows(
            "Connectors and tasks that did not run",
            post_mortem.DOWNTIME_SQL,
            description="From the last sign of the old run to the first of the new one, between two bounds.",
            units={"at_least": "ms", "likely": "ms", "at_most": "ms"},
        ),
        rows(
            "Idle time by cause",
            post_mortem.IDLE_SQL,
            description="Time that configured connectors and tasks had no holder before this generation, in sum.",
            units={"idle": "ms"},
            span=8,
        ),
        rows(
            "Waiting for a worker",
            post_mortem.WAIT_SQL,
            description="Connectors and tasks held back by the scheduled delay: since when, until when, for whom, "
            "and who came back.",
            moments=("since", "until", "ended"),
            span=8,
        ),
        rows(
            "What another delay would have cost",
            post_mortem.OTHER_DELAYS_SQL,
            description="The same wait under other maximum delays: idle time of all connectors and tasks together, "
            "and those that "
            "would have gone to another worker.",
            units={"max_delay": "ms", "idle": "ms"},
            span=8,
        ),
    ]
