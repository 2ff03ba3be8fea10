"""Python source under construction: the lines of one compiled reader.

Numbers are not unpacked where they stand but collected, until something needs one of them or a position behind them;
then one precompiled struct unpacks the whole run. The position is one of two variables in turn, plus a constant that is
known while the source is written, so that most steps forward cost nothing at run time.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import Struct as Packer
from struct import error as BehindTheEnd  # noqa: N812 - what it means here
from typing import Any, TypeAlias

from .errors import SchemaError

# (buffer, position) -> (values, next position).
Read: TypeAlias = Callable[[bytes, int], tuple[Any, int]]


class GiveUp(Exception):
    """What a compiled reader raises for bytes it was not made for; the exact reader takes over."""


OUTERMOST = "        "


class Source:
    """Lines, and what the code refers to by name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {"GiveUp": GiveUp, "BehindTheEnd": BehindTheEnd, "SchemaError": SchemaError}
        self.indent = OUTERMOST
        self._waiting: list[tuple[str, str]] = []
        self._after: list[str] = []
        self._base, self._offset = "pos", 0
        self._used: Counter[str] = Counter()
        self._taken: set[str] = set()

    def variable(self, hint: str) -> str:
        """A name that no other variable has."""
        name = hint
        while name in self._taken:
            self._used[hint] += 1
            name = f"{hint}_{self._used[hint] + 1}"
        self._taken.add(name)
        return name

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
        if not self._waiting:
            return
        code = "".join(code for code, _ in self._waiting)
        targets = ", ".join(name for _, name in self._waiting)
        self._waiting.clear()
        self.add(f"({targets},) = {self.unpacker(code)}({self.at()})")
        self._offset += Packer(">" + code).size
        for line in self._after:
            self.add(line)
        self._after.clear()

    def unpacker(self, code: str) -> str:
        """The name of what unpacks these `struct` letters."""
        self.scope.setdefault(f"unpack_{code}", Packer(f">{code}").unpack_from)
        return f"unpack_{code}"

    def at(self) -> str:
        """The arguments of what unpacks right here."""
        return f"buf, {self._here()}"

    def _here(self) -> str:
        return f"{self._base} {'-' if self._offset < 0 else '+'} {abs(self._offset)}" if self._offset else self._base

    def step(self, length: str) -> str:
        """Step over as many bytes as the expression `length` says; returns the slice that holds them."""
        start, behind = self._here(), self._other()
        self.add(f"{behind} = {start} + {length}")
        self._base, self._offset = behind, 0
        return f"[{start}:{behind}]"

    @contextmanager
    def step_unless(self, absent: str, length: str, name: str) -> Iterator[str]:
        """As `step`, for what is None and takes no bytes if the test `absent` holds: the lines added inside are for
        what is there."""
        start, behind = self._here(), self._other()
        self.add(f"if {absent}: {name}, {behind} = None, {start}")
        self.add("else:")
        outer, self.indent = self.indent, self.indent + "    "
        yield self.step(length)
        self.indent = outer

    def back(self, size: int) -> None:
        self._offset -= size

    def _other(self) -> str:
        return "pos" if self._base == "end" else "end"

    def settle(self) -> None:
        """The position is in the variable `pos` again."""
        self.flush()
        if self._here() != "pos":
            self.add(f"pos = {self._here()}")
        self._base, self._offset = "pos", 0

    def add(self, line: str) -> None:
        self.lines.append(self.indent + line)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The lines added inside are the body of `head`: a loop or a branch."""
        self.settle()
        self.add(head)
        outer, self.indent = self.indent, self.indent + "    "
        yield
        self.settle()
        self.indent = outer

    def text(self, result: str, *, padding: int = 0, otherwise: str = "raise") -> str:
        """The function as Python. `padding` zero bytes are put behind the buffer, for readers that look ahead;
        `otherwise` is the line for bytes that surprise it."""
        self.settle()
        head = ["size = len(buf)", *([f"buf += bytes({padding})"] if padding else []), 'text = buf.decode("latin-1")']
        return "\n".join(
            [
                "def read(buf, pos=0):",
                "    start, whole = pos, buf",
                "    try:",
                *(OUTERMOST + line for line in head),
                *self.lines,
                f"{OUTERMOST}if pos > size: raise GiveUp",
                f"{OUTERMOST}return {result}, pos",
                "    except (BehindTheEnd, IndexError, GiveUp, SchemaError):",
                f"        {otherwise}",
            ]
        )

    def function(self, name: str, text: str) -> Read:
        exec(compile(text, f"<{name}>", "exec"), self.scope)
        made: Read = self.scope["read"]
        return made
