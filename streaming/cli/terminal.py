"""Tables for people: nothing in them is cut, however narrow the terminal; a file or a pipe gets one line a row."""

from collections.abc import Iterable

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.measure import Measurement
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

from .outline import visible_lines

# Wider than any row, and still a width.
_UNBOUNDED = 100_000


class Terminal(Console):
    """Standard output. A reader who leaves early ends the command as everywhere else."""

    def on_broken_pipe(self) -> None:
        """Rich would end with exit code 1, which says that something was found."""
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Rich would pass a name's escape sequences on to the terminal."""
        for one in super().render(renderable, options):
            yield one if one.control else one._replace(text=visible_lines(one.text))

    def print_whole(self, table: Table) -> None:
        """Texts wrap between words at the terminal's width; a row that is wider even so is left to the terminal."""
        for column in table.columns:
            column.min_width = _longest_word(column)
        needed = Measurement.get(self, self.options.update(max_width=_UNBOUNDED), table)
        width = self.width
        self.width = max(width, needed.minimum) if self.is_terminal else needed.maximum
        self.print(table, crop=False)
        self.width = width

    def print_point(self, mark: str, sentence: str) -> None:
        """Indented, also where it wraps."""
        if self.is_terminal:
            self.print(Padding(Text(mark + sentence), (0, 0, 0, 2)))
        else:
            self.print(Text(f"  {mark}{sentence}"), soft_wrap=True)


def _longest_word(column: Column) -> int:
    cells = [str(cell) for cell in (column.header, *column.cells)]
    return max(cell_len(word) for cell in cells for word in (cell.split() or [""]))
