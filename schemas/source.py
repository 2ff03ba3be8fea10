"""Python source under construction: the lines of one compiled reader.

Numbers are not unpacked where they stand but collected, until something needs one of them or a position behind them;
then one precompiled struct unpacks the whole run. The position is one of two variables in turn, plus a constant that is
known while the source is written, so that most steps forward cost nothing at run time.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import Struct as Packer
from typing import Any


class GiveUp(Exception):
    """What a compiled reader raises for bytes it was not made for; the exact reader takes over."""


class Source:
    """Lines, and what the code refers to by name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"GiveUp": GiveUp}
        self._indent = "    "
        self._waiting: list[tuple[str, str]] = []
        self._after: list[str] = []
        self._base, self._offset = "pos", 0
        self._used: Counter[str] = Counter()

    def variable(self, hint: str) -> str:
        """A name that no other variable has."""
        self._used[hint] += 1
        return hint if self._used[hint] == 1 else f"{hint}_{self._used[hint]}"

    def constant(self, value: Any) -> str:
        """The name under which the code finds `value`."""
        name = f"constant_{len(self.scope)}"
        self.scope[name] = value
        return name

    def number(self, code: str, name: str) -> None:
        """A number of this `struct` letter comes next."""
        self._waiting.append((code, name))

    def length(self, code: str, of: str) -> str:
        """A number comes next that the following lines need; returns its variable."""
        name = self.variable(f"length_of_{of}")
        self.number(code, name)
        self.flush()
        return name

    def after(self, line: str) -> None:
        """One line, once the numbers that wait are there."""
        self._after.append(line)

    def flush(self) -> None:
        """Unpack what waits."""
        if not self._waiting:
            return
        code = "".join(code for code, _ in self._waiting)
        targets = ", ".join(name for _, name in self._waiting)
        self._waiting.clear()
        if code == "H":  # two bytes are put together faster than a struct is called
            self.add(f"{targets} = buf[{self._here()}] << 8 | buf[{self._here(1)}]")
        else:
            self.add(f"({targets},) = {self.constant(Packer('>' + code).unpack_from)}(buf, {self._here()})")
        self._offset += Packer(">" + code).size
        for line in self._after:
            self.add(line)
        self._after.clear()

    def _here(self, ahead: int = 0) -> str:
        offset = self._offset + ahead
        return f"{self._base} + {offset}" if offset else self._base

    def step(self, length: str) -> str:
        """Step over as many bytes as the expression `length` says; returns the slice that holds them."""
        start, behind = self._here(), "pos" if self._base == "end" else "end"
        self.add(f"{behind} = {start} + {length}")
        self._base, self._offset = behind, 0
        return f"[{start}:{behind}]"

    def _settle(self) -> None:
        """The position is in the variable `pos` again."""
        self.flush()
        if self._here() != "pos":
            self.add(f"pos = {self._here()}")
        self._base, self._offset = "pos", 0

    def add(self, line: str) -> None:
        """One line."""
        self.lines.append(self._indent + line)

    @contextmanager
    def loop(self, head: str) -> Iterator[None]:
        """The lines added inside are the body of `head`."""
        self._settle()
        self.add(head)
        outer, self._indent = self._indent, self._indent + "    "
        yield
        self._settle()
        self._indent = outer

    def function(self, name: str, results: list[str]) -> Callable[[bytes, int], tuple[tuple[Any, ...], int]]:
        """The compiled reader: (buffer, position) -> (values of `results`, next position)."""
        self._settle()
        body = "\n".join(self.lines)
        text = (
            f'def read(buf, pos):\n    text = buf.decode("latin-1")\n{body}\n'
            f"    if pos > len(buf): raise GiveUp\n    return ({''.join(f'{r}, ' for r in results)}), pos\n"
        )
        exec(compile(text, f"<{name}>", "exec"), self.scope)
        made: Callable[[bytes, int], tuple[tuple[Any, ...], int]] = self.scope["read"]
        return made
