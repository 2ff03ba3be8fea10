"""How long the monitor goes on to say that records were gone before they were read."""

import re
from typing import Annotated

from pydantic import AfterValidator

from rebalance_monitor.streaming.config.section import Section

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def seconds(text: str) -> int:
    """90m, 2h, 1d12h: whole numbers with s, m, h or d. ValueError."""
    if not re.fullmatch(r"(\d{1,9}[smhd])+", text):
        raise ValueError("must be a time such as 90m, 2h or 1d12h")
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([smhd])", text))


def _duration(text: str) -> str:
    seconds(text)
    return text


class GapSection(Section):
    """A gap is shown until somebody acknowledges it, or for so long."""

    shown_for: Annotated[str, AfterValidator(_duration)] = "7d"

    def shown_for_s(self) -> int:
        """The time in seconds."""
        return seconds(self.shown_for)
