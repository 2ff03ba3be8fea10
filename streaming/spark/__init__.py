"""The Structured Streaming job: reads the coordinator's log with librdkafka and folds it in `foreachBatch`."""
