"""Frozen dataclasses made quickly.

The `__init__` of a frozen dataclass sets every field through `object.__setattr__`, which costs more than decoding the
field. A maker fills a twin instead, a class with the same slots and without the freeze, and turns the finished object
into the frozen class: its memory layout is the same, so only the type changes hands.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def maker(cls: type[T]) -> Callable[..., T]:
    """A function with the fields of slotted dataclass `cls` as positional arguments, in their order of declaration,
    that makes the same value as `cls(...)`. No defaults, no `__post_init__`."""
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type] # a dataclass, says the caller
    twin = type(f"{cls.__name__}Twin", (), {"__slots__": tuple(names), "__doc__": "An unfinished one."})
    lines = [f"def make({', '.join(names)}):", "    made = new(Twin)"]
    lines += [f"    made.{name} = {name}" for name in names]
    lines += ["    made.__class__ = Cls", "    return made"]
    scope: dict[str, Any] = {"new": object.__new__, "Twin": twin, "Cls": cls}
    exec(compile("\n".join(lines), f"<maker of {cls.__name__}>", "exec"), scope)
    made: Callable[..., T] = scope["make"]
    return made
