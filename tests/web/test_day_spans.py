"""In which days generations are looked for: together they leave out none, and the last of them has all."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.columns import DAY_MS, day_of
from rebalance_monitor.streaming.web.day_spans import GREATEST, LEAST, spans, within

TODAY = 20_000
MOMENTS = st.integers(min_value=-(2**63), max_value=2**63 - 1)
MAYBE = st.one_of(st.none(), MOMENTS, st.integers(min_value=(TODAY - 12) * DAY_MS, max_value=(TODAY + 2) * DAY_MS))


def _has(condition: tuple[list[str], list[int]], day: int) -> bool:
    return all(
        {"day >= %s": day >= bound, "day <= %s": day <= bound}[text] for text, bound in zip(*condition, strict=True)
    )


def test_days_behind_the_newest_one_come_first() -> None:
    assert list(spans({}, TODAY, None)) == [
        (["day >= %s"], [TODAY - 1]),
        (["day >= %s"], [TODAY - 8]),
        ([], []),
    ]


def test_what_is_rare_is_looked_for_in_all_days_at_once() -> None:
    assert list(spans({"grade": "unexplained", "since_ms": 0}, TODAY, None)) == [(["day >= %s"], [0])]


def test_no_day_before_the_first_one_that_was_asked_for() -> None:
    asked = {"since_ms": (TODAY - 3) * DAY_MS, "until_ms": TODAY * DAY_MS}
    assert list(spans(asked, None, None)) == [
        (["day >= %s", "day <= %s"], [TODAY - 1, TODAY]),
        (["day >= %s", "day <= %s"], [TODAY - 3, TODAY]),
    ]


@given(MAYBE, MAYBE, MAYBE, st.one_of(st.none(), st.integers(LEAST, GREATEST)), MOMENTS)
def test_every_generation_that_is_asked_for_is_in_the_last_span_and_none_before_one_that_is_in_an_earlier_span(
    since_ms: int | None, until_ms: int | None, before_ms: int | None, newest_day: int | None, at_ms: int
) -> None:
    asked = {name: at for name, at in (("since_ms", since_ms), ("until_ms", until_ms)) if at is not None}
    tried = list(spans(asked, newest_day, before_ms))
    stored = min(max(day_of(at_ms), LEAST), GREATEST)
    wanted = all(
        (since_ms is None or at_ms >= since_ms, until_ms is None or at_ms <= until_ms,
         before_ms is None or at_ms <= before_ms)
    )  # fmt: skip
    if wanted:
        assert _has(tried[-1], stored)
        for one in tried:  # a later day is in each span that an earlier one is in
            lows = [bound for text, bound in zip(*one, strict=True) if text == "day >= %s"]
            assert _has(one, stored) or stored < min(lows)


@given(MOMENTS, MOMENTS, MOMENTS)
def test_a_moment_of_the_range_is_on_a_day_of_it(since_ms: int, until_ms: int, at_ms: int) -> None:
    if since_ms <= at_ms <= until_ms:
        assert _has(within(since_ms, until_ms), min(max(day_of(at_ms), LEAST), GREATEST))
