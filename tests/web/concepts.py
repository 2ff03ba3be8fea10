"""Makes docs/concepts/*.svg: what the page's lanes show of a moment of a captured group, one drawing for each concept.

python -m tests.web.concepts     writes the drawings anew (make picture)
"""

import re
from pathlib import Path
from typing import NamedTuple

from rebalance_monitor.streaming.cli.group_sources import capture_of
from rebalance_monitor.streaming.stories.lanes import group_lanes
from rebalance_monitor.streaming.web.lanes_drawn import lanes_drawing
from rebalance_monitor.streaming.web.lanes_read import GroupHistory
from rebalance_monitor.streaming.web.pages import environment

ROOT = Path(__file__).parents[2]
DOCS, VECTORS = ROOT / "docs" / "concepts", ROOT / "tests" / "vectors"
STYLES = ROOT / "streaming" / "web" / "static" / "monitor.css"
WIDTH, MARGIN = 760, 12
_FRAME = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" font-family="sans-serif">\n'
    '<style>\n{style}\n</style>\n<rect width="{wide}" height="{high}" fill="var(--card)" stroke="none"/>\n'
    '<svg x="{margin}" y="{margin}" width="{width}" height="{height}">\n{drawn}\n</svg>\n</svg>\n'
)


class Concept(NamedTuple):
    """What is drawn: a group of a capture, from so many ms after its first generation until so many."""

    capture: str
    group: str
    from_ms: int
    until_ms: int


CONCEPTS = {
    "generation": Concept("captures-groups/java-classic", "j-range", 0, 26_000),
    "delay": Concept("captures/sessioned-4.3.1", "connect-main", 48_000, 68_000),
    "revocation": Concept("captures/sessioned-4.3.1", "connect-main", 18_000, 30_000),
    "warm-up": Concept("captures-groups/streams-probing", "slowly", 0, 190_000),
}


def drawing(concept: Concept) -> str:
    """The drawing, as a file of its own: in light and dark colours, without addresses of the page."""
    capture = concept.capture.rpartition("/")[2]
    generations = list(capture_of(str(VECTORS / concept.capture)).generations((capture, concept.group)))
    lanes = group_lanes(generations, generations[0]["at_ms"])
    lanes = lanes.within(lanes.from_ms + concept.from_ms, lanes.from_ms + concept.until_ms)
    drawn = lanes_drawing(capture, concept.group, GroupHistory(lanes))
    text = str(environment().get_template("lanes.html").module.lanes_svg(drawn, "What each member was given"))  # type: ignore[attr-defined]
    text = re.sub(r'<text class="tip".*?</text>|aria-describedby="[^"]*"|<desc.*?</desc>', "", text)
    text = re.sub(r'<a href="[^"]*">', "<g>", text).replace("</a>", "</g>")
    return _FRAME.format(
        wide=WIDTH + 2 * MARGIN, high=drawn.height + MARGIN, width=WIDTH, height=drawn.height, margin=MARGIN,
        style="\n".join(_styles()), drawn="\n".join(line.strip() for line in text.splitlines() if line.strip()),
    )  # fmt: skip


def _styles() -> list[str]:
    """The colours, and what concerns lanes and needs no pointer."""
    lines = STYLES.read_text(encoding="utf-8").splitlines()
    end = next(place for place, line in enumerate(lines) if line.startswith("*"))
    return [*lines[:end], *(line for line in lines if line.startswith(".lanes") and ":is(" not in line)]


def main() -> None:
    """Writes all of them."""
    DOCS.mkdir(exist_ok=True)
    for name, concept in CONCEPTS.items():
        (DOCS / f"{name}.svg").write_text(drawing(concept), encoding="utf-8")


if __name__ == "__main__":
    main()
