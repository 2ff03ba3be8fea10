"""The commands that the documents show: each line of a block of plain text or shell that begins with a program."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
PROGRAMS = (
    "rebalance-monitor", "make", "docker", "kubectl", "helm", "curl", "pip", "kafka-acls.sh", "psql", "pg_dump",
    "pg_restore", "systemctl", "python", "python3", "python3.11", "tar", "export", "source", ".", "install", "pytest",
    "spark-submit",
)  # fmt: skip
PLAIN = ("", "bash", "sh")
"""Fences of blocks that may hold commands."""
_BEFORE = re.compile(r"^(?:sudo )?(?:[A-Z_]+=\S+ )*", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class DocumentedCommand:
    """`text`: the whole command, its continued lines joined. `shown`: what it prints stands behind it."""

    page: str
    program: str
    text: str
    shown: str = ""

    @property
    def words(self) -> list[str]:
        """Behind the program, as a shell has them."""
        return shlex.split(self.text, comments=True)[1:]


def blocks(page: str) -> Iterator[str]:
    """Its indented blocks, and the fenced ones that may hold commands, one after the other."""
    kind: str | None = None
    lines: list[str] = []
    for line in [*(ROOT / page).read_text(encoding="utf-8").splitlines(), "end"]:
        if line.startswith("```"):
            kind = line[3:].strip() if kind is None else None
        elif kind in PLAIN or (kind is None and line.startswith("    ")):
            lines.append(line if kind is not None else line[4:])
            continue
        elif not line and lines:
            lines.append(line)
            continue
        if lines:
            yield "\n".join(lines).strip("\n")
            lines = []


def commands() -> Iterator[DocumentedCommand]:
    """All of them."""
    for page in PAGES:
        for block in blocks(page):
            before, *shown = re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)
            for line in re.sub(_BEFORE, "", before).splitlines():
                program = line.partition(" ")[0].rpartition("/")[2]
                if program in PROGRAMS:
                    yield DocumentedCommand(page, program, line)
            for one in shown:
                command, _, printed = one.partition("\n")
                yield DocumentedCommand(page, command.split()[0], command, printed)
