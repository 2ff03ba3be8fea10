"""Finding the class of a plug-in: `module:Class`, or the name of an entry point."""

import importlib
import sys
from collections.abc import Sequence

from rebalance_monitor.assignors.streams.task_assignor import TaskAssignor

GROUP = "rebalance_monitor.task_assignors"
"""The group of entry points."""


class NotLoaded(Exception):
    """Why there is no such plug-in, in one sentence."""


def load(name: str, path: Sequence[str]) -> type[TaskAssignor]:
    """The class. `path`: folders that are looked through before all others. Raises NotLoaded, and what the module
    raises when it is imported."""
    sys.path[:0] = path
    found = _by_module(name) if ":" in name else _by_entry_point(name)
    if not isinstance(found, type) or not issubclass(found, TaskAssignor):
        raise NotLoaded(f"{name} is no subclass of TaskAssignor")
    missing: frozenset[str] = getattr(found, "__abstractmethods__", frozenset())
    if missing:
        raise NotLoaded(f"{name} does not define {', '.join(sorted(missing))}")
    return found


def _by_module(name: str) -> object:
    module, _, path = name.partition(":")
    try:
        found: object = importlib.import_module(module)
    except ModuleNotFoundError as why:
        if why.name is not None and (module == why.name or module.startswith(why.name + ".")):
            raise NotLoaded(f"no module {why.name} is found; name its folder in `path`") from why
        raise
    for part in path.split("."):
        if not hasattr(found, part):
            raise NotLoaded(f"module {module} has no {path}")
        found = getattr(found, part)
    return found


def _by_entry_point(name: str) -> object:
    from importlib.metadata import entry_points  # loads `email`, too: 29 ms beside 73 for all else

    found = list(entry_points(group=GROUP, name=name))
    if not found:
        known = ", ".join(sorted(one.name for one in entry_points(group=GROUP))) or "none"
        raise NotLoaded(f"no entry point {name} is in the group {GROUP} (there: {known}); or write module:Class")
    return found[0].load()
