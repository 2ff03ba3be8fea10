# The monitor: the distribution's Java runtime, Python packages exactly as locked, and this project.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements-run.lock ./
RUN python -m venv /opt/rebalance-monitor \
    && /opt/rebalance-monitor/bin/pip install --no-cache-dir --require-hashes -r requirements-run.lock
COPY pyproject.toml README.md LICENSE ./
COPY conf/default.yaml conf/default.yaml
COPY rebalance_monitor rebalance_monitor
COPY schemas schemas
COPY assignors assignors
COPY streaming streaming
COPY dashboards dashboards
# The build backend is the one thing outside the lock; it is used here and does not get into the image.
RUN /opt/rebalance-monitor/bin/pip install --no-cache-dir --no-deps . \
    && /opt/rebalance-monitor/bin/rebalance-monitor --help > /dev/null
# What is in there, for scanners: docs/security.md. The distribution's packages are in its own database.
COPY lab/supply/sbom.py ./
RUN /opt/rebalance-monitor/bin/python sbom.py requirements-run.lock > /opt/rebalance-monitor/sbom.cdx.json

FROM python:3.11-slim-bookworm
# Java's packages register manual pages, and the slim image has no folder for them.
RUN mkdir -p /usr/share/man/man1 && apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    && groupadd --system --gid 10001 monitor \
    && useradd --system --uid 10001 --gid 10001 --create-home --home-dir /var/lib/rebalance-monitor monitor
COPY --from=build /opt/rebalance-monitor /opt/rebalance-monitor
ENV PATH=/opt/rebalance-monitor/bin:$PATH PYTHONUNBUFFERED=1
# By number, so that a cluster that refuses root can see that it is none.
USER 10001:10001
WORKDIR /var/lib/rebalance-monitor
# /metrics, /healthz and /readyz; the page. Both listen on loopback unless http.host and page.host say otherwise.
EXPOSE 9470 9471
# Whether it listens on loopback or on the container's own address, and whether with TLS, the configuration says.
HEALTHCHECK --interval=10s --timeout=8s --start-period=90s CMD \
    for at in http://127.0.0.1 https://127.0.0.1 "http://$HOSTNAME" "https://$HOSTNAME"; do \
    python3 -c "import ssl, sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=2, context=ssl._create_unverified_context())" \
    "$at:9470/healthz" 2>/dev/null && exit 0; done; exit 1
ENTRYPOINT ["rebalance-monitor"]
CMD ["run", "--config", "/etc/rebalance-monitor/monitor.yaml"]
