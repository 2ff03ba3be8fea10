"""Incidents: rules, their catalogue and runbooks, damping, maintenance windows."""
