"""The page while the server comes, goes and comes back: it says what is old, and goes on by itself."""

import pytest

from e2e.http_face import HttpFace
from e2e.laptop_process import run, step
from web.browser_page import MILLISECONDS, WIDE, opened, picture

pytestmark = pytest.mark.xdist_group("laptop")


def test_a_page_that_connects_says_so(browser, laptop):
    """From the first moment, and after some seconds what to type."""
    face = HttpFace(laptop)
    context = browser.new_context(viewport=WIDE, base_url=face.url)
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    page.goto(f"/?token={face.token}")
    page.get_by_role("link", name="fine").wait_for()
    held = []

    def hold(route):
        held.append(route)

    page.route("**/v1/**", hold)
    page.reload()
    page.get_by_text("Connecting to the control plane").wait_for()
    page.get_by_text("jangar up --detach").wait_for()
    picture(page, "connecting")
    assert held
    page.unroute("**/v1/**")
    page.get_by_role("link", name="fine").wait_for()
    context.close()


def test_a_reload_midway_shows_the_same(browser, laptop):
    """The address holds the view, the step and the tab; nothing that runs is disturbed."""
    laptop.apply(run("reloaded", step("long", "wait"), step("then", "say", "long")))
    with opened(browser, laptop) as page:
        page.goto("/runs/default/reloaded?view=list&step=long")
        page.get_by_text("line 3", exact=True).wait_for()
        page.reload()
        page.get_by_text("line 3", exact=True).wait_for()
        assert page.get_by_role("tab", name="List").get_attribute("aria-selected") == "true"
        page.locator(".step-row .phase-Running").wait_for()
    laptop.done("cancel", "reloaded", "--wait")


def test_two_tabs_show_the_same_and_either_steers(browser, laptop):
    """What one does the other sees."""
    laptop.apply(run("shared", step("long", "wait")))
    with opened(browser, laptop) as one:
        other = one.context.new_page()
        other.set_default_timeout(MILLISECONDS)
        for page in (one, other):
            page.goto("/runs/default/shared?step=long")
            page.locator(".node-Running").wait_for()
            page.get_by_text("line 2", exact=True).wait_for()
        other.get_by_role("button", name="Cancel", exact=True).click()
        other.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
        for page in (one, other):
            page.locator(".run-head .phase-Cancelled").wait_for()


def test_a_restart_of_the_server_midway_is_survived(browser, laptop):
    """The page says that it is cut off, keeps what it knew, and goes on by itself: list, run and log."""
    laptop.apply(run("survivor", step("long", "wait"), step("then", "say", "long")))
    with opened(browser, laptop) as page:
        listed = page.context.new_page()
        listed.set_default_timeout(MILLISECONDS)
        listed.goto("/")
        listed.get_by_role("link", name="survivor").wait_for()
        page.goto("/runs/default/survivor?step=long")
        page.get_by_text("line 4", exact=True).wait_for()
        laptop.stop()
        page.get_by_text("Not connected.").wait_for()
        listed.get_by_text("Not connected.").wait_for()
        picture(page, "stale")
        assert page.locator(".node").count() == 2
        laptop.start()
        page.get_by_text("Not connected.").wait_for(state="detached")
        listed.get_by_text("Not connected.").wait_for(state="detached")
        laptop.apply(run("afterwards", step("only", "say")))
        listed.get_by_role("link", name="afterwards").wait_for()
        before = int(page.locator(".line").last.inner_text().split()[-1])
        page.wait_for_function(
            "seen => Number(document.querySelector('.lines').innerText.trim().split(' ').pop()) > seen + 3",
            arg=before,
        )
        numbers = [int(text.split()[-1]) for text in page.locator(".line").all_inner_texts()]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        page.get_by_role("button", name="Cancel", exact=True).click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
        page.locator(".run-head .phase-Cancelled").wait_for()


def test_who_has_no_session_is_asked_for_the_token(browser, laptop):
    """And gets in with it."""
    face = HttpFace(laptop)
    context = browser.new_context(viewport=WIDE, base_url=face.url)
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    page.goto("/control-plane")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Enter").click()
    page.get_by_role("alert").wait_for()
    picture(page, "sign-in")
    page.get_by_label("Token").fill(face.token)
    page.get_by_role("button", name="Enter").click()
    page.get_by_text("node agent").wait_for()
    context.close()


def test_what_is_not_there_says_what_to_do(browser, laptop):
    """A run or orchestration that does not exist, and a filter that nothing passes."""
    with opened(browser, laptop) as page:
        page.goto("/runs/default/nowhere")
        page.get_by_text("jangar list").wait_for()
        page.goto("/orchestrations/default/nowhere")
        page.get_by_text("jangar get orchestrations").wait_for()
        page.goto("/?q=nothing-is-called-so")
        page.get_by_role("button", name="Show all runs").click()
        page.get_by_role("link", name="fine").wait_for()
