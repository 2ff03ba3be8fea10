"""`make rooms`: draws the rooms in docs/architecture.md, from the import contracts in pyproject.toml that hold them."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "architecture.md"
PLACE = re.compile(r"(?<=<!-- rooms: made by `make rooms` -->\n```\n).+?(?=```\n)", re.DOTALL)
WIDTH = 86
SHELL, CORE, BOTTOM = "inside streaming", "the rooms of the core", "core above schemas and assignors"
"""How the contracts' names begin."""


def layers(name: str) -> list[str]:
    """The layers of the contract of which the name begins so, from top to bottom; rooms of one layer by `|`."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    (found,) = [one for one in tool["importlinter"]["contracts"] if one["name"].startswith(name)]
    return [str(layer).replace("rebalance_monitor.", "") for layer in found["layers"]]


def box(title: str, lines: list[str], width: int) -> list[str]:
    head = f"┌─ {title} " if title else "┌"
    return [f"{head:─<{width - 1}}┐", *(f"│ {line:<{width - 4}} │" for line in lines), f"└{'─' * (width - 2)}┘"]


def drawing() -> str:
    """Shell, core and what lies below it: one layer a line, each of which imports from the lines below it alone."""
    *shell, innermost = layers(SHELL)
    top, below = layers(BOTTOM)
    assert (innermost, top) == ("core", "streaming.core")
    core = box("core", layers(CORE), WIDTH - 4)
    return "\n".join([*box("streaming", [*shell, *core], WIDTH), *box("", [below], WIDTH)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(PLACE.sub(lambda _: drawing(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
