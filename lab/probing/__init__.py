"""Real Streams applications that probe for longer than they should, and what the monitor makes of their records."""
