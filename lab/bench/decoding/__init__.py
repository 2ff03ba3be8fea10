"""Our decoders beside kafka-python's, on the same records in the same run."""
