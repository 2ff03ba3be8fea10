"""What a group coordinator writes into its broker's log of why a classic group rebalances, and how it is joined."""
