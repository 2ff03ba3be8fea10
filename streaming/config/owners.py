"""Whose groups these are, and how soon and how loudly their people want to hear."""

from typing import Annotated

from pydantic import AfterValidator, Field

from rebalance_monitor.streaming.core.catalogue import RULES
from rebalance_monitor.streaming.core.model.results import AlertSeverity
from rebalance_monitor.streaming.core.model.settings import Damping, Owner
from .section import AnyMilliseconds, FromText, Pattern, Section

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


class OwnerSection(Section):
    """The team of all groups that match; the first owner that fits counts."""

    cluster: Pattern = "*"
    groups: Pattern = "*"
    team: Annotated[str, Field(min_length=1, max_length=100)]
    alerts: Annotated[dict[RuleName, AlertSeverity], FromText] = Field(default_factory=dict)
    connectors: Annotated[dict[Pattern, dict[RuleName, AlertSeverity]], FromText] = Field(default_factory=dict)
    damping: DampingByRule = Field(default_factory=dict)
    session_timeout_ms: AnyMilliseconds | None = None
    silent_member_ms: AnyMilliseconds | None = None
    rebalance_timeout_ms: AnyMilliseconds | None = None

    def core(self) -> Owner:
        return self.core_value(Owner, damping={name: one.core() for name, one in self.damping.items()})
