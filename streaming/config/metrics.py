"""How many series /metrics may have, and how clusters and workers are called there."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from rebalance_monitor.streaming.core.metrics import CLUSTER, label_problem
from .section import FromText, Pattern, Section

THROW_AWAY = (
    "console-consumer-*",
    "console-share-consumer-*",
    "anonymous.*",
    "spark-kafka-source-*",
    "perf-consumer-*",
)


def _label(name: str) -> str:
    problem = label_problem(name)
    if problem is not None:
        raise ValueError(problem)
    return name


class RewriteSection(Section):
    """A regular expression (as Python's `re`) that fits a whole worker name, and what to call it: `\\1` is a group."""

    match: Annotated[str, Field(min_length=1)]
    replace: str

    @model_validator(mode="after")
    def _works(self) -> Self:
        try:
            # What stands for a group that the expression lacks shows only when it is put in.
            re.compile(self.match + "|").sub(self.replace, "")
        except (re.error, IndexError) as why:
            raise ValueError(f"match and replace don't go together ({why})") from why
        return self


class MetricsSection(Section):
    """Incidents always have their series, whatever these limits say. `lag`: for what lag has series; for topics and
    partitions of groups that fit `lag_groups`, `max_lags` of them at most."""

    cluster_label: Annotated[str, AfterValidator(_label)] = CLUSTER
    ignored_groups: Annotated[tuple[Pattern, ...], FromText] = THROW_AWAY
    max_groups: Annotated[int, Field(ge=1)] = 2_000
    max_tasks: Annotated[int, Field(ge=0)] = 1_000
    lag: Literal["off", "group", "topic", "partition"] = "group"
    lag_groups: Annotated[tuple[Pattern, ...], FromText] = ("*",)
    max_lags: Annotated[int, Field(ge=0)] = 10_000
    worker_rewrite: Annotated[tuple[Annotated[RewriteSection, FromText], ...], FromText] = ()

    def worker(self, name: str) -> str:
        """How /metrics and alerts call this worker: by the first rule that fits, else by its name."""
        for rule in self.worker_rewrite:
            found = re.fullmatch(rule.match, name)
            if found is not None:
                return found.expand(rule.replace)
        return name
