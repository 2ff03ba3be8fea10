"""The job: a pure core that folds and judges, and the shell around it."""
