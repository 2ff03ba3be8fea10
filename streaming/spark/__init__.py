"""The Structured Streaming job: reads the coordinator's log with librdkafka, folds in `foreachBatch`, hands over to a store."""
