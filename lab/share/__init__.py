"""Real share groups on a real broker, and what the monitor makes of their records."""
