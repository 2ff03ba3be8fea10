"""`replay`: captured records through the fold, printed for people or programs."""

import argparse
import sys
from pathlib import Path

from rebalance_monitor.streaming.core.cluster.knowledge import NOTHING_KNOWN
from rebalance_monitor.streaming.core.lifecycles import FoldGroup
from rebalance_monitor.streaming.core.model.settings import ClusterSettings
from rebalance_monitor.streaming.core.replay import OFFSETS_TOPIC, Replayed
from rebalance_monitor.streaming.core.replay import replay as replay_records
from rebalance_monitor.streaming.plug_ins.folding import fold_with
from rebalance_monitor.streaming.plug_ins.host import PlugInHost
from .captures import knowledge_of, name_of, records_of, settings_of, until_of
from .exit_codes import CANNOT_TELL, DONE, FOUND, INTERNAL, InputError
from .guarded import Guarded
from .opening import settings_from
from .outline import visible
from .output import print_json
from .tables import print_generations


def replay(arguments: argparse.Namespace, fold: FoldGroup | None = None) -> int:
    """Judge every capture named; FOUND if any holds a harmful violation or an unexplained verdict, else CANNOT_TELL if
    one holds no record of a group; INTERNAL where the fold of a group failed: everything else is judged and printed all
    the same."""
    plug_ins = PlugInHost(counted=True)
    try:
        return _replay(arguments, Guarded(fold or fold_with(plug_ins)))
    finally:
        plug_ins.close()


def _replay(arguments: argparse.Namespace, guarded: Guarded) -> int:
    use_settings, found, nothing = not arguments.no_settings, False, False
    for path in map(Path, arguments.paths):
        told = replay_records(
            records_of(path),
            _settings(path, arguments.config, use_settings=use_settings),
            knowledge=knowledge_of(path) if use_settings else NOTHING_KNOWN,
            with_commits=arguments.with_commits,
            until_ms=until_of(path),
            fold=guarded,
            read=guarded.read,
        )
        found = found or told.found
        if arguments.output == "json":
            for item in told.objects:
                print_json(item)
            sys.stdout.flush()
        else:
            print_generations(told.objects)
        if not told.groups:
            nothing = True
            print(f"rebalance-monitor: {path}: {_instead(told)}", file=sys.stderr)
    guarded.tell()
    if guarded.errors:
        return INTERNAL
    return FOUND if found else CANNOT_TELL if nothing else DONE


def _instead(told: Replayed) -> str:
    """What was found where no group's record was."""
    if not told.topics:
        return "it holds no records, so there is nothing to judge"
    topics = ", ".join(f"{visible(name)} ({count})" for name, count in sorted(told.topics.items()))
    wanted = "read __consumer_offsets too" if OFFSETS_TOPIC not in told.topics else "only offset commits are there"
    return f"no record of a group is among the records of {topics}, so there is nothing to judge; {wanted}"


def _settings(path: Path, config: str | None, *, use_settings: bool) -> ClusterSettings:
    """Of the configuration where one is given, else the capture's own."""
    if config is None:
        return settings_of(path) if use_settings else ClusterSettings(name=name_of(path))
    clusters = settings_from(config).core_clusters()
    named = clusters.get(name_of(path))
    if named is None and len(clusters) != 1:
        names = ", ".join(clusters) or "none"
        raise InputError(
            f"{config}: replay needs one cluster, or one that is called {name_of(path)} as the capture; found {names}"
        )
    return named or next(iter(clusters.values()))
