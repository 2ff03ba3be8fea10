"""Makes docs/page.png: the page above the fold, by a real Chromium, over a database that replayed captures fill.

python -m tests.web.picture      writes the picture anew (make picture)
"""

import tempfile
from pathlib import Path

from rebalance_monitor.streaming.metrics.prometheus import Exporter
from tests.postgres_server import postgres_server
from tests.web import filled
from tests.web.browser import browser
from tests.web.conftest import database, dsn_of, served

PICTURE = Path(__file__).parents[2] / "docs" / "page.png"
WIDTH, HEIGHT = 1100, 620
DUPLICATE_MS = 167_000
"""So long into the capture a task has two holders."""


def main() -> None:
    """Replays two captures of real Connect clusters, the first one up to the middle of a duplicate."""
    with postgres_server() as uri, database(uri) as store, tempfile.TemporaryDirectory() as folder:
        filled.capture(store, "captures/zombie", "orders", for_ms=DUPLICATE_MS)
        filled.capture(store, "captures/sessioned-4.3.1", "payments")
        job = Exporter(0, clusters=("orders", "payments"))
        job.start()
        job.restore(store)
        for cluster in ("orders", "payments"):
            job.of(cluster).set_health(None)
        page = {"monitor_url": job.url}
        with served(Path(folder), dsn_of(store), page) as address, browser() as tab:
            tab.look(f"{address}/", WIDTH, HEIGHT)
            tab.above_the_fold(PICTURE)
        job.stop()


if __name__ == "__main__":
    main()
