"""Where results go: PostgreSQL (which also owns all progress), the Prometheus endpoint, and Alertmanager."""
