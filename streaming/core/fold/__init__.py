"""The fold of one group: rows and a tick in; the next state, results and incidents out."""
