"""A state is given back as it was, whatever it has in common with the one before."""

from random import Random

from hypothesis import given
from hypothesis import strategies as some

from rebalance_monitor.streaming.store.state_deltas import PART, WORTH_IT, applied, delta


@some.composite
def changed(draw: some.DrawFn) -> tuple[bytes, bytes]:
    """A state of up to three parts, and another one that begins, ends or goes on as it does."""
    unit = draw(some.binary(min_size=1, max_size=40))
    stored = (unit * (3 * PART // len(unit)))[: draw(some.integers(0, 3 * PART))]
    at, gone = draw(some.integers(0, len(stored))), draw(some.integers(0, 2 * PART))
    return stored, stored[:at] + draw(some.binary(max_size=60)) + stored[at + gone :]


@given(changed())
def test_what_a_delta_was_made_of_comes_back(states: tuple[bytes, bytes]) -> None:
    stored, new = states
    packed = delta(stored, new)
    assert packed is None or applied(stored, packed) == new


def test_little_that_changes_is_a_small_delta_and_another_state_is_none() -> None:
    stored = b"".join(b'{"at_ms":%d,"member":"m-%d"}' % (1_790_000_000_000 + 7 * n, n * n) for n in range(3_000))
    new = stored.replace(b'"m-4"', b'"m-5"') + b"more"
    packed = delta(stored, new)
    assert packed is not None
    assert len(packed) * WORTH_IT <= len(stored)
    assert applied(stored, packed) == new
    assert delta(stored, Random(1).randbytes(len(stored))) is None
    assert delta(b"", b"new") is None
    assert delta(stored, b"") is None
