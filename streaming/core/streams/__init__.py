"""The lifecycle of Kafka Streams groups under the classic protocol (docs/protocol/streams.md)."""
