"""What the monitor publishes for Prometheus: its findings and itself."""
