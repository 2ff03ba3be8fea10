"""Which files `coordinator_log.files` names, and what stands in the way of reading them."""

from collections.abc import Sequence
from glob import glob, has_magic
from os import path

COMPRESSED = (".gz", ".zip", ".bz2", ".xz", ".zst")


def matching(patterns: Sequence[str]) -> list[str]:
    """Files that are named or match; one that is named without a pattern need not be there. What is there and no file
    is passed over: opening a named pipe may wait for ever."""
    found = {
        one for pattern in patterns for one in (glob(pattern, recursive=True) if has_magic(pattern) else [pattern])
    }
    return sorted(one for one in found if not one.endswith(COMPRESSED) and (path.isfile(one) or not path.exists(one)))


def unreadable(patterns: Sequence[str]) -> list[str]:
    """A sentence for each pattern without a file, and for each file that cannot be read."""
    problems = [f"no file matches {pattern}" for pattern in patterns if not matching([pattern])]
    for name in matching(patterns):
        try:
            with open(name, "rb") as file:
                file.read(1)
        except OSError as why:
            problems.append(f"{name} cannot be read ({why.strerror})")
    return problems
