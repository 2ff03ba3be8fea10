"""A state is given back as it was, whatever it has in common with the one before."""

import zlib
from collections.abc import Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as some

from rebalance_monitor.streaming.store.state_deltas import DEARER, PART, WORTH_IT, DeltaCost, applied, delta


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


def written(sizes: Sequence[int], whole: bytes) -> int:
    """How many deltas of these sizes are written until the state is written as a whole."""
    cost: DeltaCost | None = None
    for count, size in enumerate(sizes):
        cost = DeltaCost.beginning(bytes(size), whole) if cost is None else cost.after(bytes(size))
        if cost is None:
            return count
    return len(sizes)


def test_a_state_is_written_as_a_whole_when_longer_deltas_have_cost_as_much() -> None:
    whole = Random(2).randbytes(2_000)
    dear = DEARER * len(zlib.compress(whole, 1))
    assert written([124] * 1_000, whole) == 1_000
    grows_slowly, grows_fast = written(range(120, 10_000, 6), whole), written(range(400, 10_000, 500), whole)
    assert (grows_slowly, grows_fast) == (37, 4)
    assert sum(6 * n for n in range(grows_slowly)) < dear <= sum(6 * n for n in range(grows_slowly + 1))


@given(some.lists(some.integers(1, 3_000), min_size=1, max_size=60), some.integers(1, 2_000))
def test_deltas_cost_at_most_a_whole_more_than_the_first_of_them_again_and_again(sizes: list[int], size: int) -> None:
    whole = Random(size).randbytes(size)
    count = written(sizes, whole)
    assert sum(sizes[:count]) <= count * sizes[0] + DEARER * len(zlib.compress(whole, 1))
