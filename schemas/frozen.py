"""Frozen dataclasses made and changed quickly.

The `__init__` of a frozen dataclass sets every field through `object.__setattr__`, which costs more than decoding the
field. A maker fills a twin instead, a class with the same slots and without the freeze, and turns the finished object
into the frozen class: only the type changes hands. Compiled readers do the same in
the midst of their code.
"""

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

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


if TYPE_CHECKING:
    from dataclasses import replace as replace  # mypy knows the types of its arguments
else:

    def replace(_old: T, /, **changes: Any) -> T:
        """What `dataclasses.replace` returns, in a fourth of its time: a record changes a handful of frozen values."""
        place = (_old.__class__, *changes)
        changed = _CHANGERS.get(place)
        if changed is None:
            changed = _CHANGERS[place] = _changer(_old.__class__, changes)
        return changed(_old, **changes)


_CHANGERS: dict[tuple[Any, ...], Callable[..., Any]] = {}
"""By class and names of the changed fields."""


def _changer(cls: type[Any], names: Collection[str]) -> Callable[..., Any]:
    """A function that makes another `cls` of one, with other values for these fields."""
    every = fields(cls)
    plain = "__slots__" in vars(cls) and not hasattr(cls, "__post_init__") and all(one.init for one in every)
    if not plain or not {one.name for one in every}.issuperset(names):  # and an unknown name is told
        return dataclasses.replace
    given = ", ".join(["_old", "/", *(["*"] if names else []), *names])
    lines = [f"def change({given}):", "    _made = _Twin()"]
    lines += [f"    _made.{one.name} = {'' if one.name in names else '_old.'}{one.name}" for one in every]
    lines += ["    _made.__class__ = _Cls", "    return _made"]
    scope: dict[str, Any] = {"_Twin": twin(cls), "_Cls": cls}
    exec(compile("\n".join(lines), f"<changer of {cls.__name__}>", "exec"), scope)
    made: Callable[..., Any] = scope["change"]
    return made
