"""Makes docs/page.png and docs/lanes.png: the fleet above the fold and a group's history, by a real Chromium, over a
database that replayed captures fill.

python -m tests.web.picture      writes the pictures anew (make picture)
"""

import tempfile
from pathlib import Path

from rebalance_monitor.streaming.core.model.results import Generation
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from tests.postgres_server import postgres_server
from tests.streaming.metrics.test_prometheus import past
from tests.web import filled
from tests.web.browser import browser
from tests.web.conftest import database, dsn_of, served

DOCS = Path(__file__).parents[2] / "docs"
PICTURE, LANES = DOCS / "page.png", DOCS / "lanes.png"
WIDTH, HEIGHT, LANES_HEIGHT = 1100, 620, 530
DUPLICATE_MS = 167_000
"""So long into the capture a task has two holders."""
BESIDE_MS = 2_000


def main() -> None:
    """Replays two captures of real Connect clusters, the first one up to the middle of a duplicate."""
    with postgres_server() as uri, database(uri) as store, tempfile.TemporaryDirectory() as folder:
        judged = filled.capture(store, "captures/zombie", "orders", for_ms=DUPLICATE_MS)
        moments = [one.at_ms for one in judged if isinstance(one, Generation)]
        filled.capture(store, "captures/sessioned-4.3.1", "payments")
        job = Exporter(0, clusters=("orders", "payments"))
        job.start()
        for cluster in ("orders", "payments"):
            job.restore(past(cluster))
            job.of(cluster).set_health(None)
        page = {"monitor_url": job.url}
        with served(Path(folder), dsn_of(store), page) as address, browser() as tab:
            tab.look(f"{address}/", WIDTH, HEIGHT)
            tab.above_the_fold(PICTURE)
            around = f"from={moments[0] - BESIDE_MS}&to={moments[-1] + BESIDE_MS}"
            tab.look(f"{address}/group?cluster=orders&group=zombies&{around}", WIDTH, LANES_HEIGHT)
            tab.run("document.querySelectorAll('.lanes a')[13].focus({preventScroll: true, focusVisible: true})")
            tab.run("document.getElementById('lanes').parentElement.scrollIntoView()")
            tab.above_the_fold(LANES)
        job.stop()


if __name__ == "__main__":
    main()
