"""What the job itself says: its /metrics, passed through, and whether it has caught up."""

from dataclasses import dataclass, field
from typing import Any

import httpx

from rebalance_monitor.streaming.config.certificates import Pinned

TIMEOUT_S = 2.0


class Silent(Exception):
    """The job's own endpoint gives no answer; one sentence."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """`clusters`: what each still waits for; `degraded`: what is off, by cluster; `standby`: another job judges all."""

    ready: bool
    clusters: dict[str, str] = field(default_factory=dict)
    degraded: dict[str, list[str]] = field(default_factory=dict)
    standby: bool = False


class StreamingJob:
    """The endpoint of the streaming job at `url`; safe for many threads. `pinned`: its certificate where the files of
    it are at hand; else authorities that the machine trusts must have signed it."""

    def __init__(self, url: str, pinned: Pinned | None = None) -> None:
        self.url, self._pinned = url.rstrip("/"), pinned
        trusted = True if pinned is None else pinned.context
        self._client = httpx.Client(timeout=TIMEOUT_S, trust_env=False, verify=trusted)

    def close(self) -> None:
        self._client.close()

    def metrics(self) -> tuple[bytes, str]:
        answer = self._get("/metrics")
        return answer.content, answer.headers.get("content-type", "text/plain")

    def readiness(self) -> Readiness:
        """Caught up, or what is waited for; a job that does not answer is not ready, and that is the reason."""
        try:
            return _read(self._get("/readyz").json())
        except Silent as why:
            return Readiness(False, {"": str(why)})
        except (ValueError, TypeError, AttributeError):
            return Readiness(False, {"": f"what answers at {self.url} is not the monitor; correct page.monitor_url"})

    def _get(self, path: str) -> httpx.Response:
        try:
            if self._pinned is not None:
                self._pinned.look()
            return self._client.get(self.url + path)
        except httpx.HTTPError:
            raise Silent(f"the streaming job gives no answer at {self.url}; is it running?") from None


def _read(told: Any) -> Readiness:
    """Raises one of several errors where it is not what the job says."""
    clusters = {str(name): str(why) for name, why in dict(told.get("clusters") or {}).items()}
    if "database" in told:
        clusters[""] = str(told["database"])
    degraded = {str(name): [str(one) for one in why] for name, why in dict(told.get("degraded") or {}).items()}
    return Readiness(bool(told.get("ready")), clusters, degraded, bool(told.get("standby")))
