"""The pure core: rows in, generations with verdicts and incidents out. No clock, no environment, no log."""
