"""Whatever a receiver does, an attempt ends soon, and the reason is one that a person can act on."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.ports import free_ports
from rebalance_monitor.streaming.notify import http_sender
from rebalance_monitor.streaming.notify.delivery import NeverAccepted, NotAccepted
from rebalance_monitor.streaming.notify.http_sender import HttpSender
from tests.streaming.notify.receiver import receiving
from tests.streaming.notify.rude_server import accepting, endless, rude, saying, self_signed, silent

SECRET = "planted-secret"


@pytest.fixture
def sender() -> Iterator[HttpSender]:
    made = HttpSender()
    yield made
    made.close()


def reason(sender: HttpSender, url: str) -> str:
    with pytest.raises(NotAccepted) as caught:
        sender.post(f"{url}/{SECRET}", {}, {"Authorization": SECRET})
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_what_keeps_it_from_the_receiver_is_said_in_words(sender: HttpSender, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "name is not known" in reason(sender, "http://no-such-host.invalid")
    assert "refused" in reason(sender, f"http://127.0.0.1:{free_ports(1)[0]}")
    assert "address" in reason(sender, "http://a..b")
    monkeypatch.setattr(http_sender, "TIMEOUT_S", 0.2)
    with rude(silent) as port:
        assert reason(HttpSender(), f"http://127.0.0.1:{port}") == "no answer within 0.2 s"


@pytest.mark.parametrize("garbage", [b"SSH-2.0-OpenSSH_9.6\r\n", b"\x15\x03\x01\x00\x02\x02\x50", b""])
def test_what_is_no_http_is_tried_again(sender: HttpSender, garbage: bytes) -> None:
    with rude(saying(garbage)) as port:
        assert "HTTP" in reason(sender, f"http://127.0.0.1:{port}")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (302, "it answers 302 Found, which is not followed: its address in the configuration must be the final one"),
        (401, "it answers 401 Unauthorized"),
        (404, "it answers 404 Not Found"),
        (429, "it answers 429 Too Many Requests"),
        (500, "it answers 500 Internal Server Error"),
    ],
)
def test_an_answer_is_told_with_its_number_and_name(sender: HttpSender, status: int, words: str) -> None:
    with receiving(f"/{SECRET}") as receiver:
        receiver.answers.append(status)
        assert reason(sender, receiver.url) == words


def test_a_receiver_that_asks_for_time_gets_it(sender: HttpSender) -> None:
    for header, wait_s in (("7", 7.0), ("100000", http_sender.LONGEST_WAIT_S), ("Wed, 21 Oct", None), ("-1", None)):
        answer = f"HTTP/1.1 429 Slow\r\nRetry-After: {header}\r\nContent-Length: 0\r\n\r\n".encode()
        with rude(saying(answer)) as port, pytest.raises(NotAccepted) as caught:
            HttpSender().post(f"http://127.0.0.1:{port}/", {}, {})
        assert caught.value.wait_s == wait_s


def test_an_answer_that_never_ends_is_taken_at_its_word_and_left(
    sender: HttpSender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_sender, "TIMEOUT_S", 0.5)
    began_s = time.monotonic()
    with rude(endless) as port:
        HttpSender().post(f"http://127.0.0.1:{port}/", {}, {})
    assert time.monotonic() - began_s < 30


def test_a_refusal_for_good_shows_the_beginning_of_the_answer_where_it_may(sender: HttpSender) -> None:
    body = b"labels are wrong" + b"!" * 100_000
    answer = b"HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    with rude(saying(answer)) as port:
        with pytest.raises(NeverAccepted, match=r"^400 labels are wrong!{184}$"):
            sender.post(f"http://127.0.0.1:{port}/", {}, {}, tell_answer=True)
        with pytest.raises(NeverAccepted, match=r"^400$"):
            sender.post(f"http://127.0.0.1:{port}/", {}, {})


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
def test_certificates_are_checked_and_the_machine_says_whose_are_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = self_signed(tmp_path, "127.0.0.1")
    with rude(accepting, own) as port:
        url = f"https://127.0.0.1:{port}"
        assert reason(HttpSender(), url) == "its certificate is not accepted (self-signed certificate)"
        monkeypatch.setenv("SSL_CERT_FILE", str(own))
        HttpSender().post(url, {}, {})
    other = self_signed(tmp_path, f"{SECRET}.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(other))
    with rude(accepting, other) as port:
        assert reason(HttpSender(), f"https://127.0.0.1:{port}") == (
            "its certificate is not accepted (it is for another name)"
        )
    with rude(saying(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        assert reason(HttpSender(), f"https://127.0.0.1:{port}").startswith("it does not speak TLS")
