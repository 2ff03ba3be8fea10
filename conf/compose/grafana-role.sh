#!/bin/sh
# Run once by PostgreSQL's image, before the monitor's first start: the role that Grafana reads with. It may read what
# the monitor will create, and nothing else.
set -eu
psql --quiet --set ON_ERROR_STOP=1 --set password="$GRAFANA_PASSWORD" \
  --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
create role grafana login password :'password';
alter role grafana set default_transaction_read_only = on;
alter role grafana set statement_timeout = '30s';
alter default privileges grant usage on schemas to grafana;
alter default privileges grant select on tables to grafana;
SQL
