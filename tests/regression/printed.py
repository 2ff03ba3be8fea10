"""What the product prints for everything in `tests/vectors`: the same from release to release, or on the list.

    python -m tests.regression.printed write      # at the commit whose output is the baseline
    python -m tests.regression.printed compare    # says what differs; exit code 1 if something does

Five kinds of sections, each a list of lines of JSON:

    replay/CAPTURE/known, replay/CAPTURE/unknown   `replay -o json` with and without the capture's settings
    live/CAPTURE                                   every result in its order, as a job folds it: batches and ticks
    mutants/CAPTURE                                grade and open rules of every answer that was changed by hand
    story/CASE                                     every incident and part transition of every story of the rule table
    plan/FILE                                      digest of the answers to a file of cases, of `plan` and `lab.plan`

The baseline lies beside the vectors, one gzip file a section. `allowed.json` lists differences that are wanted: a
section's pattern, a part of the differing lines, a field of the objects or a changed name, and the sentence
that asks for it.
"""

import gzip
import hashlib
import json
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from lab.wire import FAMILIES as OF_BYTES
from rebalance_monitor.streaming.calculator import FAMILIES
from rebalance_monitor.streaming.cli.captures import knowledge_of, records_of, settings_of
from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN, Knowledge
from rebalance_monitor.streaming.core.lifecycles import fold_group, route
from rebalance_monitor.streaming.core.model.published import as_object
from rebalance_monitor.streaming.core.model.records import GroupGeneration, Row, Tick
from rebalance_monitor.streaming.core.model.results import Generation, Incident, Part, Result
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import decode, replay
from tests.streaming.core.rules.cases import Case
from tests.streaming.core.rules.test_table import CASES
from tests.streaming.core.test_mutants import mutants
from tests.streaming.folded_group import FoldedGroup
from tests.vector_files import VECTORS

BASELINE = VECTORS / "printed"
SOLVERS = {**FAMILIES, **OF_BYTES}
ALLOWED = Path(__file__).with_name("allowed.json")
BATCH_MS = 1_500
"""Rows of so much time are one batch of the live sections."""
LAST_TICK_MS = 3_600_000

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Allowed:
    """A difference that is wanted, because `sentence` asks for it: in these sections, lines that contain `part`, a
    `field` that objects have got or lost, or what was `before` (a pattern) in lines of the baseline and is written
    `now`."""

    section: str
    sentence: str
    part: str = ""
    field: str = ""
    before: str = ""
    now: str = ""

    def covers(self, section: str, line: str) -> bool:
        return not self.field and not self.before and fnmatchcase(section, self.section) and self.part in line


def sections() -> Iterator[tuple[str, Callable[[], Lines]]]:
    """Every section's name, and what makes its lines."""
    for path in captures():
        known = settings_of(path)
        yield f"replay/{path.name}/known", partial(replayed, path, known, knowledge_of(path))
        yield f"replay/{path.name}/unknown", partial(replayed, path, ClusterSettings(name=known.name))
        yield f"live/{path.name}", partial(live, path, known, knowledge_of(path))
        if known.connect:
            yield f"mutants/{path.name}", partial(mutated, path, known)
    for case in CASES:
        yield f"story/{case.name}", partial(told, case)
    for file in sorted((VECTORS / "connect").glob("connect-*.jsonl.gz")) + sorted(
        (VECTORS / "consumer").glob("*-wire.jsonl.gz")
    ):
        yield f"plan/{file.name}", partial(planned, file)


def captures() -> list[Path]:
    folders = (VECTORS / "captures", VECTORS / "captures-groups")
    return sorted(path for folder in folders for path in folder.iterdir() if path.is_dir())


def told(case: Case) -> Lines:
    return [dumped(one) for one in case.story().fold() if isinstance(one, Incident | Part)]


def replayed(path: Path, settings: ClusterSettings, knowledge: Knowledge = NOTHING_KNOWN) -> Lines:
    return [text(one) for one in replay(records_of(path), settings, knowledge=knowledge).objects]


def rows_by_group(path: Path, settings: ClusterSettings) -> dict[str, list[Row]]:
    return dict(route([row for one in records_of(path) if (row := decode(one, settings)) is not None], settings))


def live(path: Path, settings: ClusterSettings, knowledge: Knowledge) -> Lines:
    """Results of a job that reads along: a batch for each BATCH_MS of the records' time, with a tick."""
    lines: Lines = []
    for group, rows in sorted(rows_by_group(path, settings).items()):
        followed = FoldedGroup(settings, group, knowledge)
        ordered = sorted(rows, key=lambda row: (row.timestamp_ms, row.topic, row.partition, row.offset))
        last_ms = ordered[-1].timestamp_ms if ordered else 0
        for number, batch in groups_of(ordered):
            followed.fold(batch, (number + 1) * BATCH_MS)
        followed.fold(now_ms=last_ms + LAST_TICK_MS)
        lines += map(dumped, followed.results)
    return lines


def groups_of(ordered: Sequence[Row]) -> Iterator[tuple[int, list[Row]]]:
    batch: list[Row] = []
    number = 0
    for row in ordered:
        own = row.timestamp_ms // BATCH_MS
        if batch and own != number:
            yield number, batch
            batch = []
        number = own
        batch.append(row)
    if batch:
        yield number, batch


def mutated(path: Path, settings: ClusterSettings) -> Lines:
    """One line for each changed answer: what was changed, its grade, and which rules it breaks."""
    lines: Lines = []
    for group in sorted(settings.connect):
        own = rows_by_group(path, settings)[group]
        records = [row for row in own if isinstance(row.body, GroupGeneration)]
        rest = [row for row in own if row not in records]
        state = fold_group(settings, group, None, rest, Tick(0)).state
        dice = random.Random(11)
        for row in records:
            body = row.body
            if isinstance(body, GroupGeneration) and body.members:
                for kind, members in mutants(body, dice, every=False):
                    mutant = replace(row, body=replace(body, members=members))
                    outcome = fold_group(settings, group, state, [mutant], Tick(0))
                    lines.append(text({"generation": body.generation, "kind": kind, **noticed(outcome.results)}))
            state = fold_group(settings, group, state, [row], Tick(0)).state
    return lines


def noticed(results: Sequence[Result]) -> dict[str, Any]:
    verdicts = [one.verdict for one in results if isinstance(one, Generation)]
    rules = {f"{one.code} {one.severity} {one.certainty}" for one in results if isinstance(one, Incident)}
    return {
        "grades": [one.grade for one in verdicts],
        "reasons": [one.why or None for one in verdicts],
        "rules": sorted(rules),
    }


def planned(file: Path) -> Lines:
    """Digest of all answers to a file of cases."""
    digest = hashlib.sha256()
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            family = case.get("kind") or file.name.split(".")[0]
            solve = SOLVERS.get(family) or SOLVERS[next(name for name in SOLVERS if file.name.startswith(name[:16]))]
            digest.update(text(solve(case)).encode("utf-8", "surrogatepass"))
    return [digest.hexdigest()]


def dumped(result: Result) -> str:
    return text(as_object(result))


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True)


def file_of(section: str) -> Path:
    return BASELINE / f"{section.replace('/', '--')}.gz"


def write() -> None:
    """Write the baseline anew, byte for byte the same for the same lines."""
    BASELINE.mkdir(exist_ok=True)
    for stale in BASELINE.glob("*.gz"):
        stale.unlink()
    stories: dict[str, Lines] = {}
    for section, made in sections():
        if section.startswith("story/"):
            stories[section] = made()
            continue
        file_of(section).write_bytes(gzip.compress("\n".join(made()).encode(), mtime=0))
    file_of("stories").write_bytes(gzip.compress(text(stories).encode(), mtime=0))


def allowed() -> list[Allowed]:
    return [Allowed(**one) for one in json.loads(ALLOWED.read_text(encoding="utf-8"))]


def renamed(lines: Lines, names: Sequence[tuple[str, str]]) -> Lines:
    """Lines of objects with the names that these have now, fields in the order of these names."""
    return [text(json.loads(_renamed(line, names))) if line.startswith("{") else line for line in lines]


def _renamed(line: str, names: Sequence[tuple[str, str]]) -> str:
    for before, now in names:
        line = re.sub(before, now, line)
    return line


def without(lines: Lines, ignored: Sequence[str]) -> Lines:
    """The lines without these fields of their objects, and of the objects inside."""
    return [text(strip(json.loads(line), ignored)) if ignored and line.startswith("{") else line for line in lines]


def strip(value: Any, ignored: Sequence[str]) -> Any:
    match value:
        case dict():
            return {name: strip(inner, ignored) for name, inner in value.items() if name not in ignored}
        case list():
            return [strip(inner, ignored) for inner in value]
        case _:
            return value


def differences() -> Iterator[tuple[str, Lines]]:
    """Sections that differ from the baseline by more than what is allowed, each with a diff."""
    wanted = allowed()
    stories: dict[str, Lines] = json.loads(gzip.decompress(file_of("stories").read_bytes()))
    for section, made in sections():
        if section.startswith("story/"):
            before = stories.get(section)
        else:
            path = file_of(section)
            before = gzip.decompress(path.read_bytes()).decode().splitlines() if path.exists() else None
        if before is None:  # a capture or a story that came later has no baseline
            continue
        ignored = [one.field for one in wanted if one.field and fnmatchcase(section, one.section)]
        names = [(one.before, one.now) for one in wanted if one.before and fnmatchcase(section, one.section)]
        before, lines = without(renamed(before, names), ignored), without(made(), ignored)
        diff = unified_diff(before, lines, "baseline", "now", n=0, lineterm="")
        changed = [line for line in diff if line[:1] in "+-" and not line.startswith(("+++", "---"))]
        if any(not any(one.covers(section, line) for one in wanted) for line in changed):
            yield section, changed


def main(words: Sequence[str]) -> int:
    """The command of the module's docstring."""
    match words:
        case ["write"]:
            write()
            return 0
        case ["compare"]:
            found = list(differences())
            for section, lines in found:
                print(f"{section}: {len(lines)} lines differ")
                for line in lines[:6]:
                    print(f"  {line[:600]}")
            print(f"{len(found)} sections differ")
            return 1 if found else 0
        case _:
            print("usage: python -m tests.regression.printed write|compare")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
