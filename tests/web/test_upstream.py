"""The page asks the job how it is; whatever answers there, the page knows what to say."""

import pytest

from rebalance_monitor.streaming.web.upstream import StreamingJob
from tests.streaming.notify.rude_server import rude, saying


@pytest.mark.parametrize(
    "body", [b"[]", b"null", b'"ready"', b'{"clusters": [1]}', b'{"degraded": {"c": 1}}', b"<html>", b"\xff"]
)
def test_another_program_at_its_address_is_told_as_such(body: bytes) -> None:
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with rude(saying(answer)) as port:
        job = StreamingJob(f"http://127.0.0.1:{port}")
        told = job.readiness()
        job.close()
    assert (told.ready, list(told.clusters)) == (False, [""])
    assert "is not the monitor; correct page.monitor_url" in told.clusters[""]


def test_what_hangs_up_gives_no_answer() -> None:
    with rude(saying(b"")) as port:
        told = StreamingJob(f"http://127.0.0.1:{port}").readiness()
    assert "gives no answer" in told.clusters[""]
