"""The assignors of Kafka Connect and of plain consumers, recomputed: one snapshot in, one assignment out."""
