"""Every promise of docs/guarantees.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (?!promise|---)(.+?) \| (.+) \|$", re.MULTILINE)


def test_each_promise_is_proved_by_tests_that_exist() -> None:
    rows = ROW.findall(PAGE)
    assert len(rows) > 15
    for promise, proofs in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", proofs)
        assert named, f"nothing proves: {promise}"
        for file, test in named:
            assert f"def {test}(" in (ROOT / file).read_text(encoding="utf-8"), f"{promise}: {file} has no {test}"
