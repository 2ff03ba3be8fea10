"""Whether the configured ports are free, or are held by the job that runs with this configuration."""

import errno
import socket
from collections.abc import Callable, Iterator

from rebalance_monitor.streaming.config.sections import reached_at
from rebalance_monitor.streaming.config.settings import Settings
from rebalance_monitor.streaming.core.metrics import READY

ASKED_WITHIN_S = 3.0


def ports(settings: Settings) -> Iterator[tuple[str, str | None]]:
    """Each port by its key and address, with one sentence if `run` could not listen there."""
    http, page = settings.http, settings.page
    yield _port("http.port", http.host, http.port, http.tls is not None, lambda url: _is_job(url, settings))
    if page.enabled:
        yield _port("page.port", page.host, page.port, page.tls is not None, _is_page)


def _port(key: str, host: str, port: int, tls: bool, ours: Callable[[str], bool]) -> tuple[str, str | None]:
    what = f"{key} {host}:{port}"
    why = _not_free(host, port)
    if why is None:
        return what, None
    if why.errno == errno.EADDRINUSE and ours(reached_at(host, port, tls=tls)):
        return f"{what} (held by the job that runs)", None
    return what, f"can't listen there ({why.strerror or why}), and no such job answers; set another address"


def _not_free(host: str, port: int) -> OSError | None:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
    except OSError as why:
        return why
    return None


def _is_job(url: str, settings: Settings) -> bool:
    """Whether a job answers there that watches a cluster of this name."""
    from prometheus_client.parser import text_string_to_metric_families

    text = _asked(f"{url}/metrics")
    label = settings.metrics.cluster_label
    wanted = {one.name for one in settings.clusters}
    try:
        found = [
            sample.labels.get(label)
            for family in text_string_to_metric_families(text)
            if family.name == READY.name
            for sample in family.samples
        ]
    except ValueError:
        return False
    return not wanted.isdisjoint(found)


def _is_page(url: str) -> bool:
    """Whether a monitor's page answers there. It names no cluster to those who come without a token."""
    return '"role"' in _asked(f"{url}/readyz")


def _asked(url: str) -> str:
    """What is answered, whatever its status; nothing where nobody answers in time. Nothing secret is sent, and the
    answer only says who holds the port, so the certificate may be any: it may be the one to be replaced."""
    import httpx

    try:
        return httpx.get(url, timeout=ASKED_WITHIN_S, trust_env=False, verify=False).text
    except httpx.HTTPError:
        return ""
