"""One HTTP request whose failures say what happened and never what was sent, nor where to.

Certificates are accepted that the machine's store or the package `certifi` vouches for; OpenSSL's SSL_CERT_FILE and
SSL_CERT_DIR name further ones. Redirects are not followed: they could carry credentials elsewhere. No more of an answer
is read than is needed, and no longer than TIMEOUT_S, so that no receiver can hold the sender.
"""

import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx

from .delivery import NeverAccepted, NotAccepted

# The receiver will never take this content; everything else may be its trouble of the moment.
NEVER = frozenset({400, 413, 422})
TIMEOUT_S = 5.0
# A receiver may ask for so much patience, and not for more.
LONGEST_WAIT_S = 60.0
_SHOWN = 200
_READ_AT_MOST = 65_536
_OTHER_NAME = frozenset({62, 64})  # X509_V_ERR_HOSTNAME_MISMATCH and _IP_ADDRESS_MISMATCH


class NoAnswer(Exception):
    """Nothing came that could be called an answer. The text says why, without address or content."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """`text`: its beginning; `wait_s`: how long it asks to be left alone, if it does."""

    status: int
    text: str
    wait_s: float | None = None

    @property
    def accepted(self) -> bool:
        return 200 <= self.status < 300

    def __str__(self) -> str:
        """In words, for log and people."""
        phrase = ""
        with suppress(ValueError):
            phrase = f" {HTTPStatus(self.status).phrase}"
        told = f"it answers {self.status}{phrase}"
        if 300 <= self.status < 400:
            told += ", which is not followed: its address in the configuration must be the final one"
        return told


def http_client() -> httpx.Client:
    """A client for receivers; proxies of the environment are left alone."""
    trusted = httpx.create_ssl_context(trust_env=False)
    trusted.load_default_certs()
    return httpx.Client(timeout=httpx.Timeout(TIMEOUT_S), trust_env=False, verify=trusted)


def ask(
    client: httpx.Client, method: str, url: str, *, json: Any = None, headers: Mapping[str, str] | None = None
) -> HttpAnswer:
    """One request and the beginning of its answer, whatever its status; NoAnswer."""
    try:
        with client.stream(method, url, json=json, headers=dict(headers or {})) as answer:
            return HttpAnswer(answer.status_code, _beginning(answer), _wait_s(answer.headers.get("retry-after", "")))
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as why:
        raise NoAnswer(_reason(why)) from None


class HttpSender:
    """Keeps the connection between requests; used by one thread. Addresses and headers may be secrets."""

    def __init__(self) -> None:
        self._client = http_client()

    def post(self, url: str, body: Any, headers: Mapping[str, str], *, tell_answer: bool = False) -> None:
        """Posts JSON. NotAccepted or NeverAccepted; `tell_answer` puts the beginning of an answer into a refusal."""
        try:
            answer = ask(self._client, "POST", url, json=body, headers=headers)
        except NoAnswer as why:
            raise NotAccepted(str(why)) from None
        if answer.status in NEVER:
            raise NeverAccepted(f"{answer.status} {answer.text[:_SHOWN] if tell_answer else ''}".strip())
        if not answer.accepted:
            raise NotAccepted(str(answer), answer.wait_s)

    def close(self) -> None:
        self._client.close()


def _beginning(answer: httpx.Response) -> str:
    """A short answer whole, so that the connection can be used again; of a long or slow one what came."""
    until_s, read = time.monotonic() + TIMEOUT_S, b""
    # The status has said it all: trouble with the rest of the answer changes nothing.
    with suppress(httpx.HTTPError):
        for chunk in answer.iter_raw():
            read += chunk
            if len(read) > _READ_AT_MOST or time.monotonic() > until_s:
                break
    return read[: 4 * _SHOWN].decode("utf-8", "replace")


def _wait_s(retry_after: str) -> float | None:
    """Seconds of a Retry-After header; its other form, a date, is not looked at."""
    return min(float(retry_after), LONGEST_WAIT_S) if retry_after.isascii() and retry_after.isdecimal() else None


def _reason(why: Exception) -> str:
    """What kept the request from its answer. Texts of exceptions may hold names and are not shown."""
    for cause in _causes(why):
        match cause:
            case ssl.SSLCertVerificationError():
                told = "it is for another name" if cause.verify_code in _OTHER_NAME else cause.verify_message
                return f"its certificate is not accepted ({told})"
            case ssl.SSLError():
                return f"it does not speak TLS as expected ({(cause.reason or 'broken off').lower().replace('_', ' ')})"
            case socket.gaierror():
                return "its name is not known to the DNS"
            case httpx.TimeoutException():
                return f"no answer within {TIMEOUT_S:g} s"
            case httpx.RemoteProtocolError():
                return "what answers there does not speak HTTP, or hangs up"
            case httpx.InvalidURL() | httpx.UnsupportedProtocol() | UnicodeError():
                return "its address can't be used: correct it in the configuration"
            case OSError() if cause.strerror:
                return cause.strerror.lower()
    return type(why).__name__


def _causes(why: BaseException | None) -> Iterator[BaseException]:
    """The exception's causes, the first of them first, then itself: the library wraps what the system said."""
    if why is not None:
        yield from _causes(why.__cause__ or why.__context__)
        yield why
