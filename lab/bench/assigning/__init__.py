"""Our assignors beside Kafka's own classes, on the same input in the same run."""
