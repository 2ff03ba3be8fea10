"""How fast the job is and what it costs, measured on real components. Each figure has a `make` target."""
