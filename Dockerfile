# The monitor: the distribution's Java runtime, Python packages exactly as locked, and this project.
FROM python:3.11-slim-bookworm AS build
WORKDIR /src
COPY requirements-run.lock ./
RUN python -m venv /opt/rebalance-monitor \
    && /opt/rebalance-monitor/bin/pip install --no-cache-dir --require-hashes -r requirements-run.lock
COPY pyproject.toml README.md ./
COPY schemas schemas
COPY assignors assignors
COPY streaming streaming
COPY dashboards dashboards
# The build backend is the one thing outside the lock; it is used here and does not get into the image.
RUN /opt/rebalance-monitor/bin/pip install --no-cache-dir --no-deps . \
    && /opt/rebalance-monitor/bin/rebalance-monitor --help > /dev/null

FROM python:3.11-slim-bookworm
# Java's packages register manual pages, and the slim image has no folder for them.
RUN mkdir -p /usr/share/man/man1 && apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /var/lib/rebalance-monitor monitor
COPY --from=build /opt/rebalance-monitor /opt/rebalance-monitor
ENV PATH=/opt/rebalance-monitor/bin:$PATH PYTHONUNBUFFERED=1
USER monitor
WORKDIR /var/lib/rebalance-monitor
EXPOSE 9470
ENTRYPOINT ["rebalance-monitor"]
CMD ["run", "--config", "/etc/rebalance-monitor/monitor.yaml"]
