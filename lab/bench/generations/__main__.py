"""`python -m lab.bench.generations`: writes a load as a capture, or appends it to the topics of a broker.

Only a broker that serves no group may be given records of `__consumer_offsets` (`lab.bench.topic`). Its topics must
exist: the capture's `cluster.json` names them.
"""

import argparse
import sys
from dataclasses import fields
from pathlib import Path

from lab.bench import topic
from lab.bench.generations.load import KINDS, Load, write
from lab.bench.generations.played import Size
from lab.errors import LabError


def main(arguments: list[str] | None = None) -> int:
    """Play the load and say what was written."""
    parser = argparse.ArgumentParser(prog="python -m lab.bench.generations", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the capture goes")
    parser.add_argument("--bootstrap", help="append the records to this broker, too")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    known = {"generations": 1_000, "groups": len(KINDS)}
    for one in fields(Size):
        default = known.get(one.name, one.default)
        parser.add_argument(f"--{one.name.replace('_', '-')}", type=type(default), default=default)
    given = vars(parser.parse_args(arguments))
    kinds, folder, bootstrap = tuple(given.pop("kinds")), given.pop("folder"), given.pop("bootstrap")
    load = Load(Size(**given), kinds)
    try:
        count = write(load, folder)
        if bootstrap is not None:
            again = Load(load.size, kinds).records()
            topic.append(bootstrap, ((r.topic, r.partition, r.key, r.value, r.timestamp_ms) for r in again))
    except LabError as why:
        print(why, file=sys.stderr)
        return 2
    print(f"{folder}: {count} records, {load.generations} generations, {len(load.planted)} of them wrong on purpose")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
