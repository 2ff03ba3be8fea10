"""Lanes and the fleet's table in a real browser, by keyboard alone: what has the focus is seen and says what it is."""

from collections.abc import Iterator

import httpx
import pytest

from tests.web.browser import Tab, browser
from tests.web.test_lanes_drawn import ZOMBIES

pytestmark = pytest.mark.browser
HISTORY = f"/group?cluster=alpha&group=zombies&from={ZOMBIES[0]}&to={ZOMBIES[1]}"
FOCUSED = "document.activeElement"


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with browser() as opened:
        yield opened


LIVE = "document.readyState === 'complete' && document.getElementById('live').textContent === 'live'"


def look(tab: Tab, page: httpx.Client, address: str, width: int = 1200) -> None:
    """Opens it and waits until the page follows."""
    tab.look(f"{page.base_url}".rstrip("/") + address, width=width)
    tab.wait(LIVE)


def tab_to(tab: Tab, selector: str, most: int = 80) -> None:
    """Presses Tab until something that fits has the focus."""
    for _ in range(most):
        tab.press("Tab")
        if tab.run(f"{FOCUSED}.matches({selector!r})"):
            return
    raise AssertionError(f"no Tab leads to {selector}; the focus is at {tab.run(f'{FOCUSED}.outerHTML')[:200]}")


@pytest.mark.parametrize("width", [360, 1200])
def test_a_bar_that_has_the_focus_says_what_it_is_and_leads_to_the_list(
    tab: Tab, page: httpx.Client, width: int
) -> None:
    look(tab, page, HISTORY, width)
    tab.run("document.querySelector('.zooms a').focus()")
    tab_to(tab, ".lanes a[href='#lane-0-3']")
    assert tab.run(f"{FOCUSED}.nextElementSibling.checkVisibility()")
    assert tab.run(f"{FOCUSED}.nextElementSibling.textContent").startswith("19302, 12:28:10 to 12:28:26")
    assert tab.run("[...document.querySelectorAll('.tip')].filter(one => one.checkVisibility()).length") == 1
    assert tab.run(f"getComputedStyle({FOCUSED}.querySelector('rect')).strokeWidth") == "3px"
    tab.press("Enter")
    row = "document.querySelector('tr:target')"  # looked at once: the live page may be drawn anew in between
    tab.wait(f"{row}?.checkVisibility() && {row}.innerText.startsWith('19302')")
    assert tab.run("document.documentElement.scrollWidth") == width


def test_another_time_is_shown_by_keyboard(tab: Tab, page: httpx.Client) -> None:
    look(tab, page, HISTORY)
    tab.run("document.querySelector('#lanes').parentElement.querySelector('a').focus()")
    tab_to(tab, ".lanes a[href*='from=']")
    assert "Show it alone" in tab.run(f"{FOCUSED}.querySelector('title').textContent")
    before = tab.run("document.querySelectorAll('.lanes .mark').length")
    tab.press("Enter")
    tab.wait(f"location.search.includes('from=') && !location.search.includes('{ZOMBIES[0]}')")
    tab.wait(LIVE)
    assert 0 < tab.run("document.querySelectorAll('.lanes .mark').length") < before
    tab_to(tab, ".zooms a")
    assert tab.run(f"getComputedStyle({FOCUSED}).outlineWidth") == "2px"
    assert tab.run(f"{FOCUSED}.textContent") == "15 min"
    tab.press("Enter")
    tab.wait(f"document.querySelectorAll('.lanes .mark').length === {before}")
    assert tab.run("document.querySelector('.zooms [aria-current]').textContent") == "15 min"


def test_the_drawing_can_be_skipped(tab: Tab, page: httpx.Client) -> None:
    look(tab, page, HISTORY)
    tab.run("document.querySelector('.zooms a').focus()")
    tab_to(tab, ".zooms .skip", most=12)
    assert tab.run(f"{FOCUSED}.getBoundingClientRect().width") > 50
    tab.press("Enter")
    tab.wait("location.hash !== ''")
    tab.press("Tab")
    assert tab.run(f"{FOCUSED}.tagName") == "SUMMARY"


@pytest.mark.parametrize("dark", [False, True])
def test_texts_of_the_drawing_stand_out(tab: Tab, page: httpx.Client, dark: bool) -> None:
    """Contrast of at least 4.5 (WCAG AA), in bars against the bar; 3 of symbols and of the edges of bars."""
    tab.look(f"{page.base_url}".rstrip("/") + HISTORY, dark=dark)
    assert tab.run(CONTRAST_OF_THE_DRAWING) == []


CONTRAST_OF_THE_DRAWING = """(() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[0-9.]+/g).slice(0, 3)
      .map((c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [a, b] = [light(one), light(other)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };
  const card = getComputedStyle(document.querySelector("section")).backgroundColor;
  const poor = [];
  for (const node of document.querySelectorAll(".lanes text")) {
    const rect = node.closest("a")?.querySelector("rect");
    const ground = rect ? getComputedStyle(rect).fill : card;
    if (contrast(getComputedStyle(node).fill, ground) < (node.matches(".mark") ? 3 : 4.5)) poor.push(node.outerHTML);
  }
  for (const node of document.querySelectorAll(".lanes rect"))
    if (contrast(getComputedStyle(node).stroke, card) < 3) poor.push(node.outerHTML);
  return poor;
})()"""


def test_the_fleet_is_sorted_by_keyboard(tab: Tab, page: httpx.Client) -> None:
    look(tab, page, "/")
    button = "document.querySelector('.groups').closest('section').querySelector('button')"
    for last in (False, True):
        tab.run(f"window.was = {button}; was.focus()")
        try:
            tab_to(tab, ".groups thead a[href*='sort=members']", most=12)
            break
        except AssertionError:  # the page was written anew between two keys, as it follows
            if last or tab.run("was.isConnected"):
                raise
    assert tab.run(f"getComputedStyle({FOCUSED}).outlineWidth") == "2px"
    tab.press("Enter")
    tab.wait("document.querySelector('[aria-sort=descending]')?.textContent.startsWith('Members')")
    shown = "[...document.querySelectorAll('[data-name=members]')].map(one => Number(one.textContent))"
    assert tab.run(f"{shown}[0]") == 100
    assert tab.run(f"{shown}.every((one, at, all) => !at || all[at - 1] >= one)")


def test_a_page_that_follows_keeps_the_focus(tab: Tab, page: httpx.Client) -> None:
    """What has the focus is written anew, and has it again."""
    look(tab, page, "/?sort=group")
    tab_to(tab, ".groups thead a[href*='sort=members']")
    tab.run(
        f"window.was = {FOCUSED}; document.getElementById('main').dataset.ready = 'another';"
        " document.querySelector('h1').textContent = 'an old state'"
    )
    tab.wait("document.querySelector('h1').textContent === 'Fleet'")
    assert tab.run(f"{FOCUSED} !== window.was && {FOCUSED}.matches(\".groups thead a[href*='sort=members']\")")
