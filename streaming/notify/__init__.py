"""Who is notified of incidents: Alertmanager, webhooks, a Kafka topic, and the heartbeat."""
