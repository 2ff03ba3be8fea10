"""When brokers are asked for their topics, and what is made of their answers. The clock is the test's."""

from collections.abc import Callable

import pytest

from rebalance_monitor.streaming.polling.asking import REQUESTS, BrokersAnswer
from rebalance_monitor.streaming.polling.poller import HANGS_S, LOOK_EVERY_S
from rebalance_monitor.streaming.polling.topics import MOST_KEPT, PART, TopicPoller
from rebalance_monitor.streaming.supervision import PartFailed
from tests.streaming.polling.observed_poller import ObservedPoller

EVERY_S = 30.0


class Asked(ObservedPoller):
    """A poller of a cluster whose answer the test sets."""

    part_name = PART
    poller: TopicPoller

    def __init__(self) -> None:
        super().__init__()
        self.answer: Callable[[], BrokersAnswer] = lambda: BrokersAnswer({"t": ((1,),)}, {})
        self.times: list[float] = []
        self.poller = TopicPoller(self._ask, self, EVERY_S, now_ms=self.now_ms, clock_s=lambda: self.now_s)

    def _ask(self) -> BrokersAnswer:
        self.times.append(self.now_s)
        return self.answer()


def test_brokers_are_asked_every_half_minute() -> None:
    asked = Asked()
    asked.passes(301)
    assert len(asked.times) in (10, 11)
    assert asked.requests == REQUESTS * len(asked.times)
    assert None not in asked.answered


def test_a_wanted_sample_is_asked_for_when_it_may_be() -> None:
    asked = Asked()
    asked.passes(5)
    wanted_s = asked.now_s + 4
    asked.poller.want(round(wanted_s * 1000))
    asked.passes(10)
    assert len(asked.times) == 2
    assert wanted_s <= asked.times[1] < wanted_s + 1
    last = asked.poller.since(None)[-1]
    assert last.asked_ms >= round(wanted_s * 1000)


def test_whatever_is_wanted_there_is_one_request_a_second() -> None:
    asked = Asked()
    began_s = asked.now_s
    while asked.now_s < began_s + 20:
        asked.poller.want(round(asked.now_s * 1000))
        asked.passes(LOOK_EVERY_S)
    assert len(asked.times) <= 21


def test_the_next_batch_gets_what_is_new_to_it() -> None:
    asked = Asked()
    asked.passes(EVERY_S * 3)
    first, *later = asked.poller.since(None)
    assert asked.poller.since(first.answered_ms) == later
    assert asked.poller.since(later[-1].answered_ms) == []
    asked.passes(EVERY_S * 3 * MOST_KEPT)
    assert len(asked.poller.since(None)) == MOST_KEPT


def test_a_topic_that_the_broker_cannot_tell_of_now_stays_as_it_was() -> None:
    asked = Asked()
    asked.passes(1)
    asked.answer = lambda: BrokersAnswer({"u": ((1,), (2,))}, {1: "a"}, unclear=frozenset({"t", "v"}))
    asked.passes(EVERY_S + 1)
    last = asked.poller.since(None)[-1]
    assert last.topics == {"t": ((1,),), "u": ((1,), (2,))}
    assert last.racks == {1: "a"}


def refuse() -> BrokersAnswer:
    raise PartFailed("the brokers did not say which topics there are (timed out)")


def test_a_failed_request_is_counted_and_said() -> None:
    asked = Asked()
    asked.answer = refuse
    with pytest.raises(PartFailed):
        asked.poller.step()
    assert asked.requests == REQUESTS
    assert asked.answered == [None]
    assert asked.poller.since(None) == []


def test_after_a_failure_the_next_step_asks_again() -> None:
    asked = Asked()
    asked.answer = refuse
    with pytest.raises(PartFailed):
        asked.poller.step()
    with pytest.raises(PartFailed):
        asked.poller.step()
    assert len(asked.times) == 2


def test_a_request_without_end_is_named() -> None:
    asked = Asked()

    def hang() -> BrokersAnswer:
        asked.poller.look()
        assert asked.problems == []
        asked.now_s += HANGS_S + 1
        asked.poller.look()
        return BrokersAnswer({}, {})

    asked.answer = hang
    asked.poller.step()
    assert asked.problems == ["no answer and no error from the brokers for 31 s"]
    asked.poller.look()
    assert len(asked.problems) == 1


def test_end_offsets_come_with_the_sample_and_their_requests_are_counted() -> None:
    asked = Asked()
    ends, ids = {"s-changelog": (7,)}, {"s-changelog": b"i" * 16}
    asked.answer = lambda: BrokersAnswer({"s-changelog": ((1,),)}, {}, ids=ids, ends=ends, requests=REQUESTS + 4)
    asked.passes(1)
    (sample,) = asked.poller.since(None)
    assert (sample.ends, sample.ids) == (ends, ids)
    assert asked.requests == REQUESTS + 4
