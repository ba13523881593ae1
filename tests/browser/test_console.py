"""The console as a person sees it, in Chromium."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import Cluster


@pytest.fixture(scope="module", autouse=True)
def objects(cluster: Cluster) -> None:
    cluster.greet("hello")
    cluster.greet("broken", ready="False", message="the board refused: no such board")
    cluster.greet("till", "shop")


def entered(page: Page, console: str, token: str) -> Page:
    page.goto(f"{console}#token={token}")
    expect(page.locator("#live")).to_contain_text("live")
    return page


def test_without_a_token_nothing_is_shown(page: Page, console: str) -> None:
    page.goto(console)
    expect(page.get_by_role("heading", name="Show a Kubernetes token")).to_be_visible()
    expect(page.locator(".row")).to_have_count(0)


def test_the_map_shows_every_endpoint_the_broken_first(
    page: Page, console: str, cluster: Cluster, pictures: Path
) -> None:
    entered(page, console, cluster.token("chief"))
    expect(page.locator(".row")).to_have_count(3)
    expect(page.locator(".row a").first).to_contain_text("broken")
    expect(page.locator(".row a").first).to_contain_text("the board refused: no such board")
    page.screenshot(path=pictures / "map.png")


def test_an_object_s_page_says_why(page: Page, console: str, cluster: Cluster, pictures: Path) -> None:
    entered(page, console, cluster.token("chief"))
    page.locator(".row a", has_text="broken").click()
    detail = page.locator("#detail")
    expect(detail.get_by_role("heading", name="Greeting default/broken")).to_be_focused()
    expect(detail).to_contain_text("The first broken hop is Greeting broken")
    expect(detail).to_contain_text("Ready = False Refused")
    expect(detail).to_contain_text("evidence: board of broken: answered 2 s ago")
    expect(detail.locator("pre")).to_contain_text("text: hello")
    page.screenshot(path=pictures / "object.png")
    page.keyboard.press("Escape")
    expect(detail).to_be_hidden()
    expect(page.locator(".row a", has_text="broken")).to_be_focused()


def test_a_change_is_shown_as_it_happens_and_kept_as_a_flip(page: Page, console: str, cluster: Cluster) -> None:
    entered(page, console, cluster.token("chief"))
    cluster.greet("moody")
    moody = page.locator(".row a", has_text="moody")
    expect(moody).to_have_attribute("aria-label", "Greeting default/moody: True")
    moody.click()
    cluster.say("moody", "default", "False", "gone sour")
    expect(moody).to_contain_text("gone sour")
    expect(page.locator("#detail")).to_contain_text(re.compile("Ready: False for [^;]+; [12] flips? seen"))
    cluster.plane.kubectl("delete", "greeting", "moody", "-n", "default")
    expect(moody).to_have_count(0)


def test_what_objects_say_is_shown_as_text(page: Page, console: str, cluster: Cluster) -> None:
    """No markup of a tenant is ever parsed, and no address of theirs becomes a link."""
    message = "<img src=x onerror=\"document.title='taken'\"><a href='javascript:alert(1)'>here</a> javascript:alert(2)"
    entered(page, console, cluster.token("chief"))
    cluster.greet("hostile", ready="False", message=message)
    try:
        row = page.locator(".row a", has_text="hostile")
        expect(row).to_contain_text("<img src=x onerror")
        row.click()
        expect(page.locator("#detail")).to_contain_text("javascript:alert(2)")
        assert page.locator("img[src=x]").count() == 0
        links = page.locator("a").evaluate_all("all => all.map((a) => a.getAttribute('href'))")
        assert [href for href in links if not href.startswith("#/")] == []
        assert page.title() != "taken"
    finally:
        cluster.plane.kubectl("delete", "greeting", "hostile", "-n", "default")


def test_search_and_filters_narrow_the_map(page: Page, console: str, cluster: Cluster) -> None:
    entered(page, console, cluster.token("chief"))
    page.keyboard.press("/")
    page.keyboard.type("refused")
    expect(page.locator(".row")).to_have_count(1)
    page.locator("#search").fill("")
    page.locator("#namespace").select_option("shop")
    expect(page.locator(".row")).to_have_count(1)
    expect(page.locator(".row")).to_contain_text("till")
    page.locator("#namespace").select_option("")
    page.get_by_role("button", name="true").click()
    expect(page.locator(".row")).to_have_count(1)


def test_a_person_sees_what_they_may_see(page: Page, console: str, cluster: Cluster) -> None:
    entered(page, console, cluster.token("clerk", "shop"))
    expect(page.locator(".row")).to_have_count(1)
    expect(page.locator(".row")).to_contain_text("till")
    assert "hello" not in page.content()
    asked = Request(f"{console}api/object?kind=Greeting&namespace=default&name=hello")
    asked.add_header("Authorization", f"Bearer {cluster.token('clerk', 'shop')}")
    with pytest.raises(HTTPError) as refused:
        urlopen(asked)
    assert refused.value.code == 403
    assert b"you may not read Greeting default/hello" in refused.value.read()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_stands_in_anybody_s_way(page: Page, console: str, cluster: Cluster, theme: str) -> None:
    """The rules of axe-core, on the map and on an object's page."""
    entered(page, console, cluster.token("chief"))
    page.evaluate("name => document.documentElement.dataset.theme = name", theme)
    assert [one["id"] for one in Axe().run(page).response["violations"]] == []
    page.locator(".row a", has_text="broken").click()
    expect(page.locator("#detail")).to_be_visible()
    found = Axe().run(page).response["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in found] == []


def test_it_is_usable_on_a_phone_and_in_the_dark(page: Page, console: str, cluster: Cluster, pictures: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    entered(page, console, cluster.token("chief"))
    page.get_by_role("button", name="Change between light and dark").click()
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    page.locator(".row a", has_text="broken").click()
    expect(page.locator("#detail")).to_be_in_viewport()
    page.screenshot(path=pictures / "phone.png")


def test_the_keyboard_is_enough(page: Page, console: str, cluster: Cluster) -> None:
    entered(page, console, cluster.token("chief"))
    expect(page.locator(".row")).to_have_count(3)
    page.keyboard.press("ArrowDown")
    expect(page.locator(".row a").nth(0)).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".row a").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#detail")).to_be_visible()


@pytest.mark.parametrize("width", [1440, 390])
def test_a_stopped_operator_is_shown_with_since_when(
    page: Page, console: str, cluster: Cluster, pictures: Path, width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    entered(page, console, cluster.token("chief"))
    expect(page.locator("#leaders")).to_be_hidden()
    since = "2026-01-01T00:01:00Z"
    cluster.greet("fresh", unjudged=True)
    cluster.lease("seamark", since)
    try:
        banner = page.locator("#leaders")
        expect(banner).to_have_text(
            f"No operator leads sample since {since}. What is shown is as of then.", timeout=20_000
        )
        page.screenshot(path=pictures / f"stopped-{width}.png")
        page.locator(".row a", has_text="hello").click()
        detail = page.locator("#detail")
        expect(detail).to_contain_text(f"No status shows a problem as of {since}; since then no operator leads.")
        expect(detail).not_to_contain_text("Nothing is broken")
        page.screenshot(path=pictures / f"stopped-object-{width}.png")
        page.keyboard.press("Escape")
        page.locator(".row a", has_text="fresh").click()
        expect(detail).to_contain_text("Ready: not yet judged")
        expect(detail).to_contain_text("default, not yet judged")
        page.screenshot(path=pictures / f"unjudged-{width}.png")
    finally:
        cluster.plane.kubectl("delete", "lease", "seamark", "-n", "default")
        cluster.plane.kubectl("delete", "greeting", "fresh", "-n", "default")
    expect(page.locator("#leaders")).to_be_hidden(timeout=20_000)
