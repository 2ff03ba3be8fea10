"""`rebalance-monitor plan` for the families of bytes (`lab.wire`), with the same input and output.

python -m lab.plan --family connect-wire tests/vectors/connect/connect-wire.jsonl.gz
"""

import argparse
import sys

from lab.wire import FAMILIES
from rebalance_monitor.streaming.cli import main
from rebalance_monitor.streaming.cli.commands import plan_arguments
from rebalance_monitor.streaming.cli.plan import solve_all, solver


def parser() -> argparse.ArgumentParser:
    """The arguments of `plan`; none of these families knows a configuration."""
    top = argparse.ArgumentParser(prog="python -m lab.plan", description="What Kafka's own classes read and write.")
    plan_arguments(top, FAMILIES)
    top.set_defaults(handle=_plan)
    return top


def _plan(arguments: argparse.Namespace) -> int:
    return solve_all(solver(FAMILIES, arguments.family), arguments.file, output=arguments.output)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], parser))
