"""Consumer groups led by clients that are not Kafka's own: librdkafka, kafka-python and franz-go, on a real broker."""
