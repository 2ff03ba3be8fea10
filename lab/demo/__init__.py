"""`make demo`: a cluster in which things go wrong, the monitor beside it, and an independent check of what it says."""
