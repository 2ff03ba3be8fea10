"""What a shadow has of the live job's settings: what it judges by, and nothing by which people or ports are reached."""

from pathlib import Path

from rebalance_monitor.streaming.cli.opening import settings_from
from rebalance_monitor.streaming.cli.shadow import shadowed
from rebalance_monitor.streaming.cli.telling import has_receivers

LIVE = """
clusters: [{name: c, bootstrap_servers: 'localhost:9092'}]
database: {dsn: 'postgresql://u@127.0.0.1:1/one'}
judge: {wait_ms: 7}
alerting:
  path: push
  alertmanagers: [http://127.0.0.1:9093]
  webhooks: [{name: chat, url: 'http://127.0.0.1:1/hook'}]
  kafka: {bootstrap_servers: 'localhost:9092', topic: alerts}
  heartbeat_url: http://127.0.0.1:1/beat
  damping: {imbalance: {for_ms: 5}}
storage: {archive: /archive}
http: {port: 9999}
spark: {checkpoint_dir: /live}
"""


def test_it_judges_as_the_live_job_and_reaches_nobody(tmp_path: Path) -> None:
    (tmp_path / "monitor.yaml").write_text(LIVE)
    live = settings_from(str(tmp_path / "monitor.yaml"))
    shadow = shadowed(live)
    assert (has_receivers(live), has_receivers(shadow)) == (True, False)
    assert shadow.core_clusters() == live.core_clusters()
    assert (shadow.alerting.heartbeat_url, shadow.storage.archive) == (None, None)
    assert (shadow.http.port, shadow.page.enabled, shadow.audit.every_ms) == (0, False, None)
    assert shadow.spark.checkpoint_dir is None
