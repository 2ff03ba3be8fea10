"""The receiver takes what Alertmanager takes and refuses what it refuses."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lab.asking import local
from lab.receivers.alert_receiver import fault, serve
from tests.waiting import PATIENCE_S

NOW = datetime.now(UTC)
LATER, EARLIER = (NOW + timedelta(hours=1)).isoformat(), (NOW - timedelta(hours=1)).isoformat()
ALERT: dict[str, Any] = {"labels": {"alertname": "imbalance", "group": "g"}, "startsAt": EARLIER, "endsAt": LATER}


@pytest.fixture
def url() -> Iterator[str]:
    server = serve(0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_firing_then_resolved(url: str) -> None:
    assert local().post(f"{url}/api/v2/alerts", json=[ALERT], timeout=PATIENCE_S).status_code == 200
    assert local().get(f"{url}/api/v2/alerts", timeout=PATIENCE_S).json() == [ALERT]
    over = {**ALERT, "startsAt": EARLIER, "endsAt": EARLIER}
    assert local().post(f"{url}/api/v2/alerts", json=[over], timeout=PATIENCE_S).status_code == 200
    assert local().get(f"{url}/api/v2/alerts", timeout=PATIENCE_S).json() == []
    assert [entry["status"] for entry in local().get(f"{url}/received", timeout=PATIENCE_S).json()] == [
        "firing",
        "resolved",
    ]


@pytest.mark.parametrize("body", [b"", b"{", b"{}", b'["x"]', b'[{"labels":{}}]', b'[{"labels":{"a":1}}]'])
def test_what_is_no_list_of_alerts_is_refused(url: str, body: bytes) -> None:
    assert local().post(f"{url}/api/v2/alerts", content=body, timeout=PATIENCE_S).status_code == 400
    assert local().get(f"{url}/received", timeout=PATIENCE_S).json() == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"labels": {"bad-name": "x"}}, "no valid name"),
        ({"labels": {"alertname": ""}}, "not empty"),
        ({"annotations": {"summary": None}}, "no text"),
        ({"startsAt": "yesterday"}, "no RFC 3339 time"),
        ({"startsAt": LATER, "endsAt": EARLIER}, "before startsAt"),
        ({"status": "firing"}, "unknown field status"),
        ({"generatorURL": 7}, "generatorURL is no text"),
    ],
)
def test_each_fault_is_named(change: dict[str, Any], why: str) -> None:
    found = fault({**ALERT, **change})
    assert found is not None
    assert why in found
