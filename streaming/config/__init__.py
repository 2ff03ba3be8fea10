"""The configuration: one file per concern, read by `loading.load`. Frozen once loaded; secrets never print."""
