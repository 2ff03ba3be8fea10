"""The client through which brokers are asked, and what it says of a request that failed."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rebalance_monitor.streaming.config.amazon import connecting
from rebalance_monitor.streaming.supervision import PartFailed

REQUEST_TIMEOUT_S = 5.0


def admin_of(client: Mapping[str, str], name: str) -> Any:
    """librdkafka's admin client with these settings; brokers see it as `rebalance-monitor-NAME`.

    Whoever asks must keep it until the answer is there: the answers go with it.
    """
    from confluent_kafka.admin import AdminClient

    settings = {"client.id": f"rebalance-monitor-{name}", "log_level": "0", "error_cb": connection_broke, **client}
    return AdminClient(connecting(settings))


@contextmanager
def brokers(did_not: str) -> Iterator[None]:
    """Questions to brokers. Raises PartFailed where one fails; `did_not`: what the brokers failed to do."""
    from confluent_kafka import KafkaException

    try:
        yield
    except (KafkaException, TimeoutError) as why:
        raise PartFailed(f"the brokers {did_not} ({reason(why)})") from why


def reason(why: object) -> str:
    """What the client says of a failed request: an exception, or the error of one broker, which is none."""
    if isinstance(why, TimeoutError):
        return f"no answer within {REQUEST_TIMEOUT_S:g} s"
    first: Any = next(iter(getattr(why, "args", (why,))), None)
    return str(first.str()) if hasattr(first, "str") else type(why).__name__


def code_of(why: BaseException) -> int:
    """The error's code in Kafka's protocol; librdkafka's own errors are below -1. 0 for a time-out of ours."""
    first: Any = why.args[0] if why.args else None
    return int(first.code()) if hasattr(first, "code") else 0


def connection_broke(_error: Any) -> None:
    """Says nothing: a broken connection shows as requests that fail."""


def next_of(names: Iterable[str], after: str | None, most: int) -> list[str]:
    """The next names in turn, at most so many, each once; `after`: the last of the turn before."""
    order = sorted(names)
    at = 0 if after is None else bisect_right(order, after)
    return [*order[at:], *order[:at]][:most]
