"""`cost`: what rebalances cost, in sums by cause or whatever else is asked for."""

import argparse
from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

from rebalance_monitor.streaming.core.costs import FIGURES, CostFigure, CostQuestion, by_of
from rebalance_monitor.streaming.core.model.messages import counted
from rebalance_monitor.streaming.stories.durations import duration
from .exit_codes import CANNOT_TELL, DONE, InputError
from .group_questions import Question, source_of
from .moments import duration_ms, moment_ms
from .output import print_for_programs
from .terminal import Terminal

Object = dict[str, Any]
NO_WORD = {"connector": "not split"}
"""What a line says of a word that it has not."""


def cost(arguments: argparse.Namespace) -> int:
    """CANNOT_TELL where no rebalance is known."""
    try:
        by = by_of(arguments.by)
    except ValueError as why:
        raise InputError(f"--by: {why}") from None
    since_ms = duration_ms(arguments.since, "--since")
    until_ms = None if arguments.at is None else moment_ms(arguments.at, "--at")
    source = source_of(arguments)
    told = source.costs(
        CostQuestion(
            by=by,
            cluster=arguments.cluster,
            group=arguments.group,
            since_ms=max(source.at_ms - since_ms, 0),
            until_ms=until_ms,
        )
    )
    if not told["total"]["rebalances"]:  # of a group that is known, or not: of one that is gone summaries may be left
        Question(source, () if arguments.group is None else (arguments.group,), arguments.cluster).every()
    if arguments.output != "table":
        print_for_programs({"kind": "costs", **told}, arguments.output)
    else:
        console = Terminal()
        for part in shown(told):
            if isinstance(part, Table):
                console.print_whole(part)
            else:
                console.print(part, soft_wrap=True)
    return DONE if told["total"]["rebalances"] else CANNOT_TELL


def shown(told: Object) -> Iterator[Table | Text]:
    """What people see of the API's answer."""
    until = f"to {told['until']}" if told["until"] else "on"
    span = f"from {told['since']} {until}, whole days in UTC"
    if not told["total"]["rebalances"]:
        yield Text(f"no rebalance is known {span}")
        return
    yield Text(f"{counted(told['total']['rebalances'], 'rebalance')} {span}")
    if told["being_cut"]:
        yield Text(f"not in it, because they are summed up now: {', '.join(told['being_cut'])}", style="yellow")
    split = "connector" in told["by"]  # a rebalance counts with each, and one that cost nothing with none
    table = Table(*told["by"], box=None, show_footer=split or len(told["lines"]) > 1)
    for name in ("rebalances", *(figure.title for figure in FIGURES)):
        table.add_column(name, justify="right")
    for line in told["lines"]:
        table.add_row(*(line[word] or NO_WORD.get(word, "-") for word in told["by"]), *_figures(line))
    titles = ["total", *[""] * (len(told["by"]) - 1)] if told["by"] else []
    for column, text in zip(table.columns, [*titles, *_figures(told["total"])], strict=True):
        column.footer = text
    yield table


def _figures(line: Object) -> list[str]:
    return [str(line["rebalances"]), *(amount(figure, line) for figure in FIGURES)]


def amount(figure: CostFigure, line: Object) -> str:
    """5 min; at least 5 min (of 2): all is known of two rebalances; not known."""
    known, of = line[figure.name], line[f"{figure.name}_of"]
    if known is None:
        return "not known" if line["rebalances"] else ""
    if figure.at_least and not known:
        return "none known"
    text = duration(known) if figure.name.endswith("_ms") else f"{known:,}"
    if of == line["rebalances"]:
        return f"at least {text}" if figure.at_least else text
    return f"at least {text} (of {of})"
