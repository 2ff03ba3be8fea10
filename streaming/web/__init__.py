"""A page without Grafana, and the JSON API: what the database holds, for people and programs, read-only.

Pure parts: `scope` (who may see what), `views` and `matrix` (rows to what a page shows), `contract` (every route,
declared once), `openapi`. The rest is the shell around them: `reader` (the database), `app` (HTTP), `serve`.
"""
