"""Whose groups these are, what is expected of them, and how soon and how loudly their people want to hear."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.incidents.of_every_group import EXPECTATIONS
from rebalance_monitor.streaming.core.model.findings import AlertSeverity
from rebalance_monitor.streaming.core.model.settings import NOTHING_EXPECTED, Damping, Expectations, Owner
from .section import LONGEST_MS, AnyMilliseconds, FromText, Pattern, Section

MOST_MEMBERS, MOST_REBALANCES = 100_000, 360
"""More members than any group has; one rebalance in ten seconds is a storm."""
_NAMES = {name for rule in RULES for name in (rule.code, rule.title)}


def _known_rule(name: str) -> str:
    if name not in _NAMES:
        raise ValueError(f"no rule is called {name!r}; use a title such as imbalance or a code such as CONNECT-I8")
    return name


RuleName = Annotated[str, AfterValidator(_known_rule)]


class DampingSection(Section):
    """How long a finding must last before people are told, and how long after its end they still are."""

    for_ms: AnyMilliseconds | None = None
    keep_firing_ms: AnyMilliseconds | None = None

    def core(self) -> Damping:
        return Damping(self.for_ms, self.keep_firing_ms)


DampingByRule = Annotated[dict[RuleName, Annotated[DampingSection, FromText]], FromText]


class GroupSection(Section):
    """All groups whose ids match; the first entry that fits counts."""

    match: Pattern = "*"
    cluster: Pattern = "*"
    team: Annotated[str, Field(min_length=1, max_length=100)]
    alerts: Annotated[dict[RuleName, AlertSeverity], FromText] = Field(default_factory=dict)
    connectors: Annotated[dict[Pattern, dict[RuleName, AlertSeverity]], FromText] = Field(default_factory=dict)
    damping: DampingByRule = Field(default_factory=dict)
    session_timeout_ms: AnyMilliseconds | None = None
    silent_member_ms: AnyMilliseconds | None = None
    rebalance_timeout_ms: AnyMilliseconds | None = None
    members_at_least: Annotated[int, Field(ge=1, le=MOST_MEMBERS)] | None = None
    lag_s: Annotated[int, Field(ge=1, le=LONGEST_MS // 1_000)] | None = None
    rebalances_per_hour: Annotated[int, Field(ge=0, le=MOST_REBALANCES)] | None = None
    severity: AlertSeverity | None = None

    @model_validator(mode="after")
    def _severity_of_something(self) -> Self:
        if self.severity is not None and self.expects() == NOTHING_EXPECTED:
            raise ValueError(
                "severity is how loudly unmet expectations speak, and none is given; give members_at_least, lag_s or "
                "rebalances_per_hour, or set the severity of other rules under alerts"
            )
        return self

    def expects(self) -> Expectations:
        return self.core_value(Expectations)

    def core(self) -> Owner:
        loudness = {} if self.severity is None else {one.title: self.severity for one in EXPECTATIONS}
        return self.core_value(
            Owner,
            groups=self.match,
            alerts={**loudness, **self.alerts},
            damping={name: one.core() for name, one in self.damping.items()},
            expects=self.expects(),
        )
