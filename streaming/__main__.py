"""Entry point of the command `rebalance-monitor`."""

import sys

from .cli import main as run_command

__all__ = ["main"]


def main() -> int:
    return run_command(sys.argv[1:])


if __name__ == "__main__":
    raise SystemExit(main())
