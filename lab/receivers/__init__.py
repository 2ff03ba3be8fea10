"""Who gets alerts: a real Prometheus and Alertmanager, and programs that remember what they were sent."""
