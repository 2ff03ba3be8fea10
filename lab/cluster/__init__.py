"""Real servers on one machine: brokers, Connect workers, PostgreSQL, and what they need."""
