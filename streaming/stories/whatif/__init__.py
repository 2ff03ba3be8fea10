"""What rebalances a change of a group brings, by published documents and the assignors of the verdicts."""
