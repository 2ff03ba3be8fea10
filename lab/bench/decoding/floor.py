"""What a decoder cannot do without: the decoded value put together from parts at known places.

Nothing is read and nothing looked for: every length, position and number is a constant of a function written for one
value. What is left are the slices of its texts and bytes, each distinct text once, and its tuples and objects, made as
our compiled readers make them. No decoder that gives the same value can be faster in the same interpreter.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

from rebalance_monitor.schemas.frozen import twin


def rebuilder(value: Any) -> Callable[[], Any]:
    """A function that makes an equal value, anew at each call."""
    source = _Rebuilding()
    result = source.expression(value)
    return source.function(result)


class _Rebuilding:
    """Lines of the function, and what they refer to by name."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._scope: dict[str, Any] = {}
        self._classes: dict[type[Any], tuple[str, str]] = {}
        self._texts: dict[str, str] = {}
        self._text = ""
        self._bytes = b""

    def expression(self, value: Any) -> str:
        """Python for `value`, with the lines that it needs before."""
        match value:
            case str():
                return self._sliced(value)
            case bytes():
                at = len(self._bytes)
                self._bytes += value
                return f"buf[{at}:{at + len(value)}]"
            case tuple() | list():
                return f"({''.join(self.expression(each) + ', ' for each in value)})"
            case _ if is_dataclass(value):
                return self._object(value)
            case _:
                return repr(value)

    def _sliced(self, text: str) -> str:
        if text not in self._texts:
            at = len(self._text)
            self._text += text
            self._texts[text] = f"text_{len(self._texts)}"
            self._lines.append(f"{self._texts[text]} = text[{at}:{at + len(text)}]")
        return self._texts[text]

    def _object(self, value: Any) -> str:
        cls = type(value)
        if cls not in self._classes:
            self._classes[cls] = self._constant(twin(cls)), self._constant(cls)
        unfinished, finished = self._classes[cls]
        held = {f.name: self.expression(getattr(value, f.name)) for f in fields(cls)}
        name = f"object_{len(self._lines)}"
        self._lines.append(f"{name} = {unfinished}()")
        self._lines += [f"{name}.{field} = {one}" for field, one in held.items()]
        self._lines.append(f"{name}.__class__ = {finished}")
        return name

    def _constant(self, value: Any) -> str:
        name = f"constant_{len(self._scope)}"
        self._scope[name] = value
        return name

    def function(self, result: str) -> Callable[[], Any]:
        """The function that returns this expression."""
        body = [f"    {line}" for line in (*self._lines, f"return {result}")]
        scope = self._scope | {"text": self._text, "buf": self._bytes}
        exec(compile("\n".join(["def rebuild():", *body]), "<rebuild>", "exec"), scope)
        made: Callable[[], Any] = scope["rebuild"]
        return made
