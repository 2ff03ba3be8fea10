"""Kafka's own assignors of any release, run beside ours on the same input."""
