"""The page in a real browser: what it shows, that it follows, in light and dark, on a phone, by keyboard names."""

import os
import signal
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from lab.asking import local
from rebalance_monitor.streaming.metrics.prometheus import Exporter
from tests.streaming import builders
from tests.streaming.core.rules.cases_epochs import does_not_revoke
from tests.streaming.stories import drills
from tests.waiting import PATIENCE_S
from tests.web import filled
from tests.web.browser import Tab, browser
from tests.web.conftest import Filled, database, dsn_of, served, serving

pytestmark = pytest.mark.browser
GROUP = "/group?cluster=alpha&group=zombies"
MANY = "/group?cluster=gamma&group=hundred-workers"
HISTORY = f"{GROUP}&from=1795177670000&to=1795177845000"
SORTED = "/?sort=-lag&cluster=gamma"
UNREAD = "/group?cluster=gamma&group=unread"
RUNBOOK = "/runbook?rule=duplicate_active"


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with browser() as opened:
        yield opened


@pytest.fixture(autouse=True)
def _nothing_said(tab: Tab) -> Iterator[None]:
    """No script failed, no policy was broken, nothing was missing."""
    tab.look("about:blank")  # a page that lost its server goes on telling of it
    tab.said.clear()
    yield
    assert tab.said == []


def at(page: httpx.Client, address: str = "/") -> str:
    """The whole address."""
    return f"{page.base_url}".rstrip("/") + address


def lightness(png: bytes) -> float:
    """Of the upper left corner, 0 dark to 255 light; a PNG of 8 bits per channel."""
    width, _, depth, colour = struct.unpack(">IIBB", png[16:26])
    assert (depth, colour in (2, 6)) == (8, True)
    assert width > 300
    # Whatever the filter of the first row, its first pixel is whole: nothing stands before or above it.
    first = zlib.decompressobj().decompress(_chunks(png), 4)
    return sum(first[1:4]) / 3


def _chunks(png: bytes) -> bytes:
    at, found = 8, b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            found += png[at + 8 : at + 8 + size]
        at += size + 12
    return found


def test_the_fleet_in_light_and_dark(tab: Tab, page: httpx.Client, tmp_path: Path) -> None:
    seen = {}
    for dark in (False, True):
        tab.look(at(page), dark=dark)
        tab.wait("document.getElementById('live').textContent === 'live'")
        first = tab.run("document.querySelector('.groups tbody tr').innerText")
        assert first.startswith("critical")
        assert filled.HOSTILE in tab.run("document.querySelector('.incident.notified').innerText")
        seen[dark] = lightness(tab.picture(tmp_path / f"fleet-{dark}.png"))
    assert seen[False] > 200 > 60 > seen[True]


def test_a_hostile_name_runs_nothing(tab: Tab, page: httpx.Client) -> None:
    tab.look(at(page))
    tab.run("document.querySelector('.groups a[href*=script]').click()")
    tab.wait("location.pathname === '/group' && document.readyState === 'complete'")
    assert tab.run("document.querySelector('h1 bdi').textContent") == filled.HOSTILE
    assert tab.run("document.querySelectorAll('script').length") == 1
    assert f"{filled.HOSTILE} (connector)" in tab.run("document.querySelector('.matrix').innerText")


@pytest.mark.parametrize(
    "address", ["/", GROUP, "/group?cluster=gamma&group=waits", HISTORY, SORTED, MANY, UNREAD, RUNBOOK]
)
def test_it_fits_a_phone(tab: Tab, page: httpx.Client, address: str, tmp_path: Path) -> None:
    tab.look(at(page, address), width=360, height=740)
    assert tab.run("document.documentElement.scrollWidth") == 360
    assert len(tab.picture(tmp_path / "phone.png")) > 10_000


def test_a_phone_shows_what_is_wrong_with_a_job_without_scrolling(tab: Tab, page: httpx.Client) -> None:
    tab.look(at(page, "/group?cluster=gamma&group=waits"), width=390, height=740)
    beside = "[...document.querySelectorAll('.matrix .note')].filter(one => one.checkVisibility() && one.textContent)"
    assert tab.run(f"{beside}.length") == 4
    assert tab.run(f"{beside}.every(one => one.getBoundingClientRect().right <= 390)")
    tab.look(at(page))
    tab.run("document.querySelector('.tiles a[href=\"#incidents\"]').click()")
    assert tab.run("location.hash") == "#incidents"


def test_the_six_lines_are_on_the_first_screen(tab: Tab, server: str, tmp_path: Path) -> None:
    """All of them on a desk, all but what to do on a phone."""
    lines = "[...document.querySelectorAll('section[aria-labelledby=answer] dl > div')]"
    with database(server) as store:
        stories = {
            "storm": drills.restless_after_a_deployment(), "idle": drills.restarted_pod(), "stuck": does_not_revoke()
        }  # fmt: skip
        for name, story in stories.items():
            story.settings = replace(story.settings, name=name)
            filled.put(store, *story.fold())
        filled.capture(store, drills.ZOMBIE, "alpha", for_ms=167_000)
        with served(tmp_path, dsn_of(store)) as url:
            listed = local().get(f"{url}/api/v1/groups").json()["items"]
            for one in listed:
                address = f"{url}/group?cluster={one['cluster']}&group={one['group']}"
                for width, height, least in ((1280, 800, 6), (390, 844, 5)):
                    tab.look(address, width=width, height=height)
                    bottoms = tab.run(f"{lines}.map(one => one.getBoundingClientRect().bottom)")
                    assert len(bottoms) == 6
                    assert bottoms[least - 1] <= height


def test_everything_has_a_name_for_those_who_listen(tab: Tab, page: httpx.Client) -> None:
    for address in ("/", GROUP, HISTORY, SORTED, MANY, UNREAD, RUNBOOK):
        tab.look(at(page, address))
        assert tab.run("document.documentElement.lang") == "en"
        assert tab.run("document.querySelectorAll('h1').length") == 1
        nameless = (
            "[...document.querySelectorAll('a, button, input, [role=img], [role=region], nav')].filter(one =>"
            " !(one.ariaLabel || one.getAttribute('aria-labelledby') || one.textContent.trim())).length"
        )
        assert tab.run(nameless) == 0
        assert tab.run("[...document.querySelectorAll('th')].filter(one => !one.scope).length") == 0
        dangling = (
            "[...document.querySelectorAll('[aria-labelledby]')]"
            ".filter(one => !document.getElementById(one.getAttribute('aria-labelledby'))).length"
        )
        assert tab.run(dangling) == 0


@pytest.mark.parametrize("dark", [False, True])
def test_texts_stand_out_from_their_ground(tab: Tab, page: httpx.Client, dark: bool) -> None:
    """Contrast of at least 4.5 (WCAG AA) wherever a text stands."""
    for address in ("/", GROUP, HISTORY, SORTED, MANY, UNREAD, RUNBOOK):
        tab.look(at(page, address), dark=dark)
        assert tab.run(CONTRAST) == []


CONTRAST = """(() => {
  const parts = (text) => text.match(/[0-9.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parts(getComputedStyle(node).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.textContent.trim());
    if (!own || node.closest("svg, .sr, .skip") || !node.checkVisibility()) continue;
    const [a, b] = [light(parts(getComputedStyle(node).color).slice(0, 3)), light(ground(node))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) poor.push(`${node.tagName}.${node.className} ${contrast.toFixed(2)}`);
  }
  return [...new Set(poor)];
})()"""


def test_a_thousand_tasks_on_a_hundred_workers_are_counted_and_trouble_is_named(tab: Tab, page: httpx.Client) -> None:
    """Also in a wide window nothing hangs over its edge."""
    tab.look(at(page, MANY))
    assert tab.run("document.documentElement.scrollWidth") == 1200
    assert tab.run(
        "[...document.querySelectorAll('.look tbody tr')].map(one => one.innerText.split(/\\s*\\t/)[0])"
    ) == ["connector-00-7777"]
    assert tab.run("[...document.querySelectorAll('[aria-labelledby=loads] tbody tr')].length") == 100
    tab.look(at(page))
    tab.run("document.querySelector('.incident a[href^=\"runbook\"]').click()")
    tab.wait("location.pathname === '/runbook' && document.readyState === 'complete'")


def test_a_hundred_incidents_leave_the_groups_in_sight(tab: Tab, server: str, tmp_path: Path) -> None:
    with database(server) as store:
        filled.put(store, builders.generation(offset=1, cluster="c", group="g", generation=1, at_ms=_now_ms()))
        some = (builders.incident(incident_id=f"i{number}", cluster="c", group="g") for number in range(100))
        filled.put(store, *some)
        with served(tmp_path, dsn_of(store)) as url:
            tab.look(f"{url}/group?cluster=c&group=g", width=390)
            assert tab.run("document.querySelector('details.more summary').textContent") == "90 more incidents"
            assert tab.run("document.getElementById('matrix').getBoundingClientRect().top") < 4_000
            tab.run("document.querySelector('details.more summary').click()")
            assert tab.run("document.querySelectorAll('.incident').length") == 100


def test_a_delay_counts_down(tab: Tab, page: httpx.Client) -> None:
    tab.look(at(page, "/group?cluster=gamma&group=waits"))
    shown = "document.querySelector('.notice time').textContent"
    tab.wait(f"/^[0-9]+:[0-9]{{2}} left$/.test({shown})")
    before = tab.run(shown)
    tab.wait(f"{shown} !== {before!r}")


def test_it_follows_by_itself(tab: Tab, server: str, tmp_path: Path) -> None:
    with database(server) as store:
        filled.put(store, builders.generation(offset=1, cluster="c", group="g", generation=1, at_ms=_now_ms()))
        with served(tmp_path, dsn_of(store)) as url:
            tab.look(f"{url}/group?cluster=c&group=g")
            tab.wait("document.getElementById('live').textContent === 'live'")
            assert tab.run("document.querySelectorAll('.timeline > li').length") == 1
            filled.put(store, builders.generation(offset=2, cluster="c", group="g", generation=2, at_ms=_now_ms()))
            tab.wait("document.querySelector('.timeline > li').innerText.startsWith('Generation 2')")
            filled.put(store, builders.incident(cluster="c", group="g", message="it runs twice"))
            tab.wait("document.querySelector('h1').innerText.includes('critical')")
            tab.look(f"{url}/")
            tab.wait("document.getElementById('live').textContent === 'live'")
            filled.put(store, builders.generation(offset=3, cluster="c", group="new", generation=9, at_ms=_now_ms()))
            tab.wait("document.querySelector('.groups').innerText.includes('new')")
        tab.wait("document.getElementById('live').textContent.startsWith('connection lost')")
        # The browser itself tells of the lost connection.
        tab.said[:] = [one for one in tab.said if "ERR_" not in one]


def test_a_monitor_that_falls_silent_is_seen_on_an_open_page(tab: Tab, server: str, tmp_path: Path) -> None:
    """Fleet and group: nothing in the database will ever change again, and the page must not look well."""
    warned = "document.body.innerText.includes('gives no answer')"
    for address in ("/", "/group?cluster=c&group=g"):
        job = Exporter(0)
        job.start()
        with database(server) as store:
            filled.put(store, builders.generation(offset=1, cluster="c", group="g", generation=1, at_ms=_now_ms()))
            job.restore(store)
            with served(tmp_path, dsn_of(store), {"monitor_url": job.url}) as url:
                tab.look(url + address)
                tab.wait("document.getElementById('live').textContent === 'live'")
                assert not tab.run(warned)
                job.stop()
                tab.wait(warned)
        tab.said[:] = [one for one in tab.said if "ERR_" not in one]


def test_a_page_that_shows_another_state_than_the_monitor_has_is_written_anew(
    tab: Tab, full: Filled, tmp_path: Path
) -> None:
    """However it came to show it: the next beat tells."""
    job = Exporter(0)
    job.restore(full.store)
    job.start()
    with served(tmp_path, full.dsn, {"monitor_url": job.url}) as url:
        tab.look(f"{url}/")
        tab.wait("document.getElementById('live').textContent === 'live'")
        tab.wait("document.getElementById('main').dataset.ready === 'true'")
        # At once: a beat in between would write the page anew before it shows the old state.
        tab.run(
            "document.getElementById('main').dataset.ready = 'false';"
            " document.querySelector('h1').textContent = 'an old state'"
        )
        tab.wait("document.querySelector('h1').textContent === 'Fleet'")
        assert tab.run("document.getElementById('main').dataset.ready === 'true'")
    job.stop()
    tab.said[:] = [one for one in tab.said if "ERR_" not in one]


def test_an_open_connection_on_which_nothing_comes_is_lost(tab: Tab, full: Filled, tmp_path: Path) -> None:
    """The page's process stands still. For the browser its connection is still open."""
    chip = "document.getElementById('live').textContent"
    with serving(tmp_path, full.dsn) as page:
        tab.look(f"{page.url}/")
        tab.wait(f"{chip} === 'live'")
        os.kill(page.pid, signal.SIGSTOP)
        try:
            tab.run("{ const now = performance.now.bind(performance); performance.now = () => now() + 60_000; }")
            tab.wait(f"{chip}.startsWith('connection lost')")
        finally:
            os.kill(page.pid, signal.SIGCONT)
        tab.wait(f"{chip} === 'live'")
    tab.said[:] = [one for one in tab.said if "ERR_" not in one]


def test_a_database_that_goes_and_comes_is_seen_on_an_open_page(tab: Tab, server: str, tmp_path: Path) -> None:
    chip = "document.getElementById('live')?.textContent"
    with database(server) as store:
        filled.put(store, builders.generation(offset=1, cluster="c", group="g", generation=1, at_ms=_now_ms()))
        with served(tmp_path, dsn_of(store)) as url, psycopg.connect(server, autocommit=True) as admin:
            name = store.database.address.rpartition("/")[2]
            store.close()
            tab.look(f"{url}/")
            tab.wait(f"{chip} === 'live'")
            _admit(admin, name, False)
            tab.wait(f"{chip} === 'not up to date'")
            assert "What you see is old. PostgreSQL at" in tab.run("document.querySelector('.old').textContent")
            assert tab.run("document.querySelector('.groups').innerText.includes('g')")
            assert local().get(f"{url}/", timeout=PATIENCE_S).status_code == 503
            _admit(admin, name, True)
            tab.wait(f"{chip} === 'live' && !document.querySelector('.old')")
            _admit(admin, name, False)
            # A page asked for meanwhile comes back by itself, without any script.
            tab.look(f"{url}/")
            tab.wait("document.body.innerText.includes('tries again every 5 seconds')")
            _admit(admin, name, True)
            tab.wait(f"{chip} === 'live'")
    tab.said[:] = [one for one in tab.said if "503" not in one and "ERR_" not in one]


def _admit(admin: psycopg.Connection[Any], name: str, yes: bool) -> None:
    admin.execute(f"alter database {name} with allow_connections {yes}".encode())
    if not yes:
        admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (name,))


def _now_ms() -> int:
    return int(time.time() * 1000)
