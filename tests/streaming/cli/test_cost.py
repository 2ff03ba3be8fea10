"""What `cost` prints: as docs/cost.md shows it, and what is not split."""

from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.cost import shown
from rebalance_monitor.streaming.core.costs import BY, CostEntry, CostQuestion, CostSums, answer

DOCS = Path(__file__).parents[3] / "docs/cost.md"
START = "    $ rebalance-monitor "
EXAMPLES = [line for line in DOCS.read_text(encoding="utf-8").splitlines() if line.startswith(START)]


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_page_shows_what_is_printed(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, rest = DOCS.read_text(encoding="utf-8").partition(f"{example}\n")
    page = [line[4:] for line in rest.partition("\n\n")[0].splitlines()]
    assert main(example.removeprefix(START).split()) == 0
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == page
    assert len(page) > 4


def test_the_help_names_every_word_that_sums_can_be_split_by(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cost", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    named = text.partition("split by ")[2].partition(", or by several")[0]
    assert named.replace(" or ", ", ").split(", ") == [*BY]


def answered(*lines: tuple[str, int | None]) -> Any:
    """Lines of connectors with what of each moved, of three rebalances in which nine things moved."""
    of = {"cluster": "c", "group": "g"}
    rest = (None,) * 4
    entries = [
        CostEntry({**of, "connector": name}, CostSums(2, (moved, *rest), (2, 0, 0, 0, 0))) for name, moved in lines
    ]
    question = CostQuestion(by=("cluster", "group", "connector"), since_ms=0)
    return answer(entries, question, lambda *_: "", total=CostSums(3, (9, *rest), (3, 0, 0, 0, 0)))


def table_of(told: Any) -> Table:
    (table,) = [part for part in shown(told) if isinstance(part, Table)]
    return table


def test_what_is_not_split_is_said_and_the_total_is_that_of_the_rebalances() -> None:
    table = table_of(answered(("a", 4), ("", 5)))
    assert [[*column.cells][:2] for column in table.columns[2:5]] == [["not split", "a"], ["2", "2"], ["5", "4"]]
    assert [column.footer for column in table.columns[3:5]] == ["3", "9"]


def test_where_nothing_cost_anything_the_total_alone_is_there() -> None:
    table = table_of(answered())
    assert (table.row_count, table.show_footer, table.columns[3].footer) == (0, True, "3")
