"""Connect groups: what a generation shows, what its leader may have known, its verdict, its rules, its statuses."""
