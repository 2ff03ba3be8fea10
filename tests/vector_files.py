"""Golden data: where it lies, and what its files hold."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent / "vectors"
CAPTURES, GROUP_CAPTURES = VECTORS / "captures", VECTORS / "captures-groups"


def json_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a packed file, one a line."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
