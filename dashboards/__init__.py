"""Dashboards and alert rules as code, made from the metric declarations of `streaming.core.metrics` alone.

Classic dashboard JSON, schema version 42: the lowest supported Grafana is 12.2.
"""
