"""One HTTP request whose failures say what happened and never what was sent."""

from collections.abc import Mapping
from typing import Any

import httpx

from streaming.sinks.delivery import NotAccepted, Refused

# The receiver will never take this content; everything else may be its trouble of the moment.
NEVER = frozenset({400, 413, 422})
TIMEOUT_S = 5.0


class HttpSender:
    """Keeps the connection between requests; used by one thread. Addresses and headers may be secrets."""

    def __init__(self) -> None:
        self._client = httpx.Client(timeout=httpx.Timeout(TIMEOUT_S), trust_env=False)

    def post(self, url: str, body: Any, headers: Mapping[str, str], *, tell_answer: bool = False) -> None:
        """Posts JSON. NotAccepted or Refused; `tell_answer` puts the beginning of an answer into a refusal."""
        try:
            answer = self._client.post(url, json=body, headers=dict(headers))
        except (httpx.HTTPError, httpx.InvalidURL) as why:
            raise NotAccepted(type(why).__name__) from None
        if answer.status_code in NEVER:
            raise Refused(f"{answer.status_code} {answer.text[:200] if tell_answer else ''}".strip())
        if not answer.is_success:
            raise NotAccepted(f"it answers {answer.status_code}")

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()
