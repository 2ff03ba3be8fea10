"""The memory of a Connect leader: hypotheses about it, and each hypothesis run through the assignor."""
