"""When incidents are told to nobody."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Self

from pydantic import AwareDatetime, Field, model_validator

from rebalance_monitor.streaming.core.incidents.maintenance import Maintenance, problem
from .section import Pattern, Section

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MaintenanceSection(Section):
    """One window during which incidents are told to nobody."""

    cluster: Pattern = "*"
    groups: Pattern = "*"
    owner: Annotated[str, Field(min_length=1)]
    reason: Annotated[str, Field(min_length=1)]
    begins: AwareDatetime
    ends: AwareDatetime

    @model_validator(mode="after")
    def _short(self) -> Self:
        wrong = problem(_ms(self.begins), _ms(self.ends))
        if wrong is not None:
            raise ValueError(f"the window {wrong}")
        return self

    def core(self) -> Maintenance:
        return self.core_value(Maintenance, from_ms=_ms(self.begins), until_ms=_ms(self.ends))


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
