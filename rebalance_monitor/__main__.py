"""`python -m rebalance_monitor`: the command line."""

from rebalance_monitor.streaming.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
