"""Where results are kept: PostgreSQL, which also owns all progress."""
