"""What is said of requests that failed."""

from confluent_kafka import KafkaError, KafkaException

from rebalance_monitor.streaming.polling.admin import reason


def test_an_error_that_is_no_exception_has_a_reason_too() -> None:
    """So brokers' errors are listed among the answers of those that did answer."""
    error = KafkaError(KafkaError._TRANSPORT)
    assert reason(error) == reason(KafkaException(error)) == error.str()
    assert reason(TimeoutError()) == "no answer within 5 s"
