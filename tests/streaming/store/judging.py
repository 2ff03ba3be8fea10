"""`python judging.py DSN FROM TO`: the release that is found first on the path judges so many records of a capture.

Prints what it did: where it was found, migrations that it applied, and how many states it could go on from.
"""

import json
import sys
from contextlib import closing
from dataclasses import replace

from rebalance_monitor.streaming import store
from rebalance_monitor.streaming.cli.captures import records_of, settings_of
from rebalance_monitor.streaming.core.fold.state import STATE_VERSION
from rebalance_monitor.streaming.store.postgres import PostgresStore
from tests.streaming.store.test_capture import batch
from tests.vector_files import VECTORS

CAPTURE = VECTORS / "captures-groups" / "java-classic"


def main(dsn: str, first: int, last: int) -> None:
    given, some = replace(settings_of(CAPTURE), name="c"), list(records_of(CAPTURE))[first:last]
    with closing(PostgresStore(dsn, "c")) as opened:
        applied = opened.migrate()
        with opened.database.session() as connection:
            row = connection.execute(
                "select count(*) from rebalance_monitor.states where version = %s", (STATE_VERSION,)
            ).fetchone()
        batch(opened, given, some, 1 if some[-1] != list(records_of(CAPTURE))[-1] else 2, opened.claim())
    print(json.dumps({"from": str(store.__file__), "applied": applied, "states": row and row[0]}))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
