"""Which part of a group's history is shown: from an address to two moments, and addresses of other parts. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from .parameters import BadRequest, address

SPANS = {"15m": ("15 min", 900_000), "1h": ("1 h", 3_600_000), "6h": ("6 h", 21_600_000), "24h": ("24 h", 86_400_000)}
USUAL_SPAN = "1h"
LONGEST_MS = 31 * 86_400_000
_LATEST_MS = 253_402_300_799_000


def moment(ms: int) -> datetime:
    """The moment, or the nearest that a calendar knows: a record may claim any time."""
    return datetime.fromtimestamp(min(max(ms, 0), _LATEST_MS) / 1000, UTC)


@dataclass(frozen=True, slots=True)
class HistoryWindow:
    """From `from_ms` until just before `until_ms`. `span`: a name of SPANS for one that ends now, else ""."""

    from_ms: int
    until_ms: int
    span: str = ""

    @property
    def live(self) -> bool:
        """It ends now, and goes on with the clock."""
        return bool(self.span)


def history_window(given: Mapping[str, str], now_ms: int) -> HistoryWindow:
    """By `from` and `to` in ms since 1970, or by `span`; without any the last hour. Raises BadRequest."""
    if "from" not in given and "to" not in given:
        span = given.get("span", USUAL_SPAN)
        if span not in SPANS:
            raise BadRequest(f"the address has a span that is none of {', '.join(SPANS)}; choose one on the page")
        return HistoryWindow(now_ms - SPANS[span][1], now_ms, span)
    return bounded("from", _given_ms(given, "from"), "to", _given_ms(given, "to"))


def bounded(first: str, from_ms: int, last: str, until_ms: int) -> HistoryWindow:
    """The window of two moments, which are called `first` and `last` where they were given. Raises BadRequest."""
    if until_ms > _LATEST_MS or not 0 < until_ms - from_ms <= LONGEST_MS:
        raise BadRequest(f"the time {last} must be after {first} and at most 31 days later; correct it")
    return HistoryWindow(from_ms, until_ms)


def _given_ms(given: Mapping[str, str], name: str) -> int:
    text = given.get(name, "")
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise BadRequest(f"the address must have {name} as milliseconds since 1970; correct it, or remove from and to")
    return int(text)


def window_address(cluster: str, group: str, from_ms: int, until_ms: int) -> str:
    """The group's page with these moments, at the drawing."""
    return _address(cluster, group, {"from": f"{max(from_ms, 0)}", "to": f"{until_ms}"})


def zooms(cluster: str, group: str, window: HistoryWindow) -> list[tuple[str, str, bool]]:
    """(text, address, whether it is shown) of each other part that one step leads to. A part of the past keeps its
    middle, one that ends now its end."""
    found = []
    middle_ms = (window.from_ms + window.until_ms) // 2
    for span, (text, width_ms) in SPANS.items():
        if window.live:
            found.append((text, _address(cluster, group, {"span": span}), span == window.span))
        else:
            from_ms = max(middle_ms - width_ms // 2, 0)
            shown = window.until_ms - window.from_ms == width_ms
            found.append((text, window_address(cluster, group, from_ms, from_ms + width_ms), shown))
    half_ms = (window.until_ms - window.from_ms + 1) // 2
    earlier_ms = max(window.from_ms - half_ms, 0)
    width_ms = window.until_ms - window.from_ms
    found.append(("Earlier", window_address(cluster, group, earlier_ms, earlier_ms + width_ms), False))
    if not window.live:
        later = window.from_ms + half_ms, window.until_ms + half_ms
        found.append(("Later", window_address(cluster, group, *later), False))
        found.append(("Now", _address(cluster, group, {"span": USUAL_SPAN}), False))
    return found


def _address(cluster: str, group: str, more: Mapping[str, str]) -> str:
    return address("group", {"cluster": cluster, "group": group, **more}) + "#lanes"
