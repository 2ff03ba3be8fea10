"""What is asked: which groups of which source, at which moment, since when."""

import argparse
import os
from collections.abc import Collection
from dataclasses import dataclass

from rebalance_monitor.streaming.web.rows import GroupName
from .exit_codes import InputError
from .group_sources import CaughtUp, GroupSource, MonitorGroups, capture_of
from .moments import duration_ms, moment_ms
from .monitor_api import api_from


@dataclass(frozen=True, slots=True)
class Question:
    """`groups` empty: all of them. `since_ms`: None where nothing is asked of the time before."""

    source: GroupSource
    groups: tuple[str, ...] = ()
    cluster: str | None = None
    since_ms: int | None = None

    def names(self) -> list[GroupName]:
        """The groups that are asked about. InputError where a name is of none, or of several."""
        known = [key for key in self.source.names() if self.cluster in (None, key[0])]
        if not self.groups:
            return known
        return [self._key(name, known) for name in dict.fromkeys(self.groups)]

    def check_cluster(self, known: Collection[str]) -> None:
        """InputError where the cluster that is asked about is none of these."""
        if self.cluster is not None and self.cluster not in known:
            those = ", ".join(sorted(known)) or "none"
            raise InputError(f"no cluster {self.cluster!r} with groups is known; known are: {those}; correct --cluster")

    def every(self) -> list[GroupName]:
        """As `names`. InputError also where all groups of a cluster are asked about and it has none."""
        if self.cluster is not None and not self.groups:
            self.check_cluster({cluster for cluster, _ in self.source.names()})
        return self.names()

    def sees(self, key: GroupName) -> bool:
        return self.cluster in (None, key[0]) and (not self.groups or key[1] in self.groups)

    def not_read(self, told: CaughtUp, clusters: Collection[str]) -> dict[str, str]:
        """Which clusters were not read to their ends, and why: those of the groups (`clusters`), and unless groups are
        named all that are asked about, for of them a group may be missing."""
        asked = {*clusters}
        if not self.groups:
            asked |= {*told.why, ""} if self.cluster is None else {self.cluster}
        return {name: why for name in sorted(asked) if (why := told.of(name))}

    def _key(self, name: str, known: list[GroupName]) -> GroupName:
        found = [key for key in known if key[1] == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(
                f"several clusters have a group {name!r} ({', '.join(c for c, _ in found)}); say --cluster"
            )
        where = f" in cluster {self.cluster!r}" if self.cluster is not None else ""
        raise InputError(f"no group {name!r} is known{where}; `rebalance-monitor status` lists those that are")


def source_of(arguments: argparse.Namespace) -> GroupSource:
    """Where a command's answers come from. A capture is read here."""
    at_ms = None if arguments.at is None else moment_ms(arguments.at, "--at")
    logs = getattr(arguments, "coordinator_log", None) or ()
    if arguments.capture is not None:
        return capture_of(arguments.capture, at_ms, logs)
    if logs:
        raise InputError("--coordinator-log is of a capture; a running monitor reads clusters[].coordinator_log.files")
    return MonitorGroups(api_from(arguments.url, os.environ), at_ms)


def question_of(arguments: argparse.Namespace) -> Question:
    """The question of a command's arguments. A capture is read here."""
    source = source_of(arguments)
    since = getattr(arguments, "since", None)
    since_ms = None if since is None else source.at_ms - duration_ms(since, "--since")
    return Question(source, tuple(arguments.group or ()), arguments.cluster, since_ms)
