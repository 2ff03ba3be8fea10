"""Dashboards and alert rules as code, made from the metric declarations of `streaming.core.metrics` alone.

Classic dashboard JSON; `lowest_grafana` says which Grafana it needs.
"""
