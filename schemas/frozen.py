"""Frozen dataclasses made quickly.

The `__init__` of a frozen dataclass sets every field through `object.__setattr__`, which costs more than decoding the
field. A maker fills a twin instead, a class with the same slots and without the freeze, and turns the finished object
into the frozen class: only the type changes hands. Compiled readers do the same in
the midst of their code.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, TypeVar

T = TypeVar("T")


def twin(cls: type[Any]) -> type[Any]:
    """A class of unfinished `cls`: their `__class__` becomes that slotted dataclass once every field is there. As it is
    derived from `cls` and adds nothing, Python sees at once that both have the same memory layout."""
    thaw = {name: getattr(object, name) for name in ("__init__", "__setattr__", "__delattr__")}
    return type(f"{cls.__name__}Twin", (cls,), {"__slots__": (), "__doc__": "An unfinished one.", **thaw})


def maker(cls: type[T]) -> Callable[..., T]:
    """A function with the fields of slotted dataclass `cls` as positional arguments, in their order of declaration,
    that makes the same value as `cls(...)`. No defaults, no `__post_init__`."""
    names = [f.name for f in fields(cls)]  # type: ignore[arg-type] # a dataclass, says the caller
    lines = [f"def make({', '.join(names)}):", "    made = Twin()"]
    lines += [f"    made.{name} = {name}" for name in names]
    lines += ["    made.__class__ = Cls", "    return made"]
    scope: dict[str, Any] = {"Twin": twin(cls), "Cls": cls}
    exec(compile("\n".join(lines), f"<maker of {cls.__name__}>", "exec"), scope)
    made: Callable[..., T] = scope["make"]
    return made
