"""The job's log: one JSON object per line on stderr."""

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any


class JsonLines(logging.Formatter):
    """{"at": ..., "event": ..., fields...}, one object per line."""

    def format(self, record: logging.LogRecord) -> str:
        fields: Mapping[str, Any] = getattr(record, "fields", {})
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line = {"at": f"{moment}.{int(record.msecs):03d}Z", "event": record.getMessage(), **fields}
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to_stderr() -> None:
    """The monitor's own words only: its libraries say nothing that a sentence of its own does not."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    log = logging.getLogger("rebalance_monitor")
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
    # Libraries that report to the root logger would otherwise get a handler of their own and print traces.
    logging.getLogger().addHandler(logging.NullHandler())
