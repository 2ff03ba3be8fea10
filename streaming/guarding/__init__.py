"""Around the pure fold: catches what it raises, measures its time, and isolates the group it happened to."""
