"""The versions of what the monitor runs on, declared once. An older one is refused where it is met; another one that is
not listed here runs, and one sentence at the start says that nobody tested it."""

from collections.abc import Sequence

PYTHON = ("3.11",)
JAVA = ("17", "21")
POSTGRESQL = ("14", "15", "16", "17", "18")

OLDEST_JAVA, OLDEST_POSTGRESQL = int(JAVA[0]), int(POSTGRESQL[0])


def not_tested(what: str, version: str, known: Sequence[str]) -> str | None:
    """The sentence about a version that is not among the known ones; None about one that is."""
    if version in known:
        return None
    *others, last = known
    named = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    return f"{what} {version} is not tested with this release; {named}"
