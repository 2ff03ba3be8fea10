"""Who may see what. Whoever may not see a group is told what is told of a group that does not exist.

No token configured: everybody who reaches the port sees everything. Otherwise a request carries one, as a bearer token
or as the password of HTTP's basic scheme (which a browser asks for by itself, so no cookie is needed).
"""

import base64
import binascii
import hmac
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

TeamOf = Callable[[str, str], str]
"""(cluster, group) -> team, "" where nobody owns the group."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Groups whose cluster and team match one pattern each (with * and ? as in file names)."""

    name: str = ""
    clusters: tuple[str, ...] = ("*",)
    teams: tuple[str, ...] = ("*",)

    @property
    def everything(self) -> bool:
        return "*" in self.clusters and "*" in self.teams

    def sees_cluster(self, cluster: str) -> bool:
        return any(fnmatchcase(cluster, pattern) for pattern in self.clusters)

    def sees(self, cluster: str, team: str) -> bool:
        """Whether a group of this cluster and team is shown."""
        return self.sees_cluster(cluster) and any(fnmatchcase(team, pattern) for pattern in self.teams)


EVERYTHING = Scope()


@dataclass(frozen=True, slots=True, repr=False)
class Token:
    """A secret and what it opens; its text is never shown, not even by repr."""

    secret: str
    scope: Scope


def admitted(header: str | None, tokens: Sequence[Token]) -> Scope | None:
    """The scope of a request with this Authorization header; None: not let in.

    Every token is compared, in constant time each, so the time taken tells nothing of a near miss.
    """
    if not tokens:
        return EVERYTHING
    given = _secret(header).encode("utf-8", "surrogatepass")
    found: Scope | None = None
    for token in tokens:
        if hmac.compare_digest(given, token.secret.encode("utf-8", "surrogatepass")):
            found = token.scope
    return found


def _secret(header: str | None) -> str:
    scheme, _, rest = (header or "").strip().partition(" ")
    match scheme.lower():
        case "bearer":
            return rest.strip()
        case "basic":
            try:
                return base64.b64decode(rest.strip(), validate=True).decode("utf-8").partition(":")[2]
            except (binascii.Error, UnicodeDecodeError):
                return ""
        case _:
            return ""


def visible(scope: Scope, team_of: TeamOf, groups: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Those of the (cluster, group) pairs that the scope shows."""
    return [(cluster, group) for cluster, group in groups if scope.sees(cluster, team_of(cluster, group))]
