"""`make test-of ROOM=streaming/store`: the tests that a change in one folder, or one file, needs.

Found by where things are: the tests in the folder of the same name, those that import from the room, themselves or
through a helper of the tests, and the promises about the whole tree. Files of the integration tier take minutes each:
they are named, not run.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lab.paths import ROOT
from lab.pytest_run import environment
from lab.tiers import INTEGRATION

TESTS = ROOT / "tests"
OF_THE_TREE = (TESTS / "architecture",)
OUTSIDE_THE_PRODUCT = ("lab", "tests")
"""Rooms that are imported by the name of their folder."""
IMPORT = re.compile(r"^[ \t]*(?:from (\S+) import (\([^)]*\)|.+)|import (\S+))", re.MULTILINE)
NAME = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Needed:
    """Files of tests, sorted: those to run, and those of the integration tier."""

    run: tuple[Path, ...]
    integration: tuple[Path, ...]


def module_of(room: Path) -> str:
    """The name by which a folder or file of the clone (relative) is imported."""
    name = ".".join(room.with_suffix("").parts).removesuffix(".__init__")
    return name if room.parts[0] in OUTSIDE_THE_PRODUCT else f"rebalance_monitor.{name}"


@cache
def imported(path: Path) -> frozenset[str]:
    """Every module that a file may import: of `from a import b` both `a` and `a.b`."""
    found: set[str] = set()
    for module, names, plain in IMPORT.findall(path.read_text(encoding="utf-8")):
        found |= {plain or module, *(f"{module}.{name}" for name in NAME.findall(names))}
    return frozenset(found)


def within(module: str, room: str) -> bool:
    return module == room or module.startswith(f"{room}.")


def needed(room: Path) -> Needed:
    """`room`: a folder or file, relative to the clone."""
    imports = {path: imported(path) for path in TESTS.rglob("*.py")}
    names = {path: module_of(path.relative_to(ROOT)) for path in imports}
    wanted = module_of(room)
    found = {path for path in imports if TESTS / room in path.parents}
    fresh = found | {path for path, modules in imports.items() if any(within(one, wanted) for one in modules)}
    while fresh:
        found |= fresh
        helpers = {names[path] for path in fresh}
        folders = {path.parent for path in fresh if path.name == "conftest.py"}
        fresh = {path for path, of in imports.items() if path.parent in folders or not helpers.isdisjoint(of)} - found
    tests = {path for path in found if path.name.startswith("test_")}
    marked = {path for path in tests if f"mark.{INTEGRATION.marker}" in path.read_text(encoding="utf-8")}
    return Needed(tuple(sorted(tests - marked)), tuple(sorted(marked)))


def main(arguments: list[str]) -> int:
    """Run what a room needs, with pytest's exit code; 2 where there is no such room. Further arguments are pytest's."""
    room = Path(*arguments[:1])
    if not arguments or not (any((ROOT / room).rglob("*.py")) or (room.suffix == ".py" and (ROOT / room).exists())):
        print(f"no Python is in `{room}`; name a folder or file of this clone: make test-of ROOM=streaming/store")
        return 2
    found = needed(room)
    paths = [str(path.relative_to(ROOT)) for path in (*OF_THE_TREE, *found.run)]
    options = ["-q", "-m", f"not {INTEGRATION.marker}", *arguments[1:]]
    done = subprocess.run([sys.executable, "-m", "pytest", *options, *paths], cwd=ROOT, env=environment(), check=False)
    if found.integration:
        print("not run, because each takes minutes; these tests of the integration tier import from the room, too:")
        print(*(f"  {path.relative_to(ROOT)}" for path in found.integration), sep="\n")
    return done.returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
