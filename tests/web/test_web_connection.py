"""The page while the server freezes, stops and restarts: it shows the age of its data and recovers by itself."""

import os
import re
import signal
import time

import pytest

from e2e.laptop_client import LaptopClient
from e2e.laptop_process import run, step
from web.browser_page import MILLISECONDS, WIDE, opened, picture
from web.test_web_measures import crowding

pytestmark = pytest.mark.xdist_group("laptop")


def test_a_connecting_page_shows_it(browser, laptop):
    """Immediately, and after some seconds with the command to type."""
    http = LaptopClient(laptop)
    context = browser.new_context(viewport=WIDE, base_url=http.url)
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    page.goto(f"/?token={http.token}")
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


def test_a_reload_shows_the_same_view(browser, laptop):
    """The address contains the view, the step and the tab; running work is not affected."""
    laptop.apply(run("reloaded", step("long", "wait"), step("then", "say", "long")))
    with opened(browser, laptop) as page:
        page.goto("/runs/default/reloaded?view=list&step=long")
        page.get_by_text("line 3", exact=True).wait_for()
        page.reload()
        page.get_by_text("line 3", exact=True).wait_for()
        assert page.get_by_role("tab", name="List").get_attribute("aria-selected") == "true"
        page.locator(".step-row .phase-Running").wait_for()
    laptop.done("cancel", "reloaded", "--wait")


def test_two_tabs_show_the_same_and_both_control(browser, laptop):
    """An action in one is shown in the other."""
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


def test_the_page_survives_a_restart_of_the_server(browser, laptop):
    """The page shows that it is disconnected, keeps its data, and recovers by itself: list, run and log."""
    laptop.apply(run("survivor", step("long", "wait"), step("then", "say", "long")))
    with opened(browser, laptop) as page:
        listed = page.context.new_page()
        listed.set_default_timeout(MILLISECONDS)
        listed.goto("/")
        listed.get_by_role("link", name="survivor").wait_for()
        page.goto("/runs/default/survivor?step=long")
        page.get_by_text("line 4", exact=True).wait_for()
        laptop.stop()
        page.get_by_text("Not live.").wait_for()
        listed.get_by_text("Not live.").wait_for()
        picture(page, "stale")
        assert page.locator(".node").count() == 2
        laptop.start()
        page.get_by_text("Not live.").wait_for(state="detached")
        listed.get_by_text("Not live.").wait_for(state="detached")
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


def test_without_a_session_the_page_asks_for_the_token(browser, laptop):
    """The right token opens it."""
    http = LaptopClient(laptop)
    context = browser.new_context(viewport=WIDE, base_url=http.url)
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    page.goto("/control-plane")
    page.get_by_label("Token", exact=True).fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("alert").wait_for()
    picture(page, "sign-in")
    page.get_by_label("Token", exact=True).fill(http.token)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("node agent").wait_for()
    context.close()


def test_a_missing_object_page_says_what_to_do(browser, laptop):
    """For a run or orchestration that does not exist, and a filter without matches."""
    with opened(browser, laptop) as page:
        page.goto("/runs/default/nowhere")
        page.get_by_text("jangar list").wait_for()
        page.goto("/orchestrations/default/nowhere")
        page.get_by_text("jangar get orchestrations").wait_for()
        page.goto("/?q=nothing-is-called-so")
        page.get_by_role("button", name="Show all runs").click()
        page.get_by_role("link", name="fine").wait_for()


def age(page) -> float:
    """Seconds, as the page shows them."""
    text = page.locator(".stale-notice .silence").inner_text()
    minutes, _, seconds = text.rpartition("m ")
    return 60 * int(minutes or 0) + float(seconds.removesuffix("s"))


def ages(page, since, seconds):
    """The age of the data that the page shows and the actual age, for some seconds."""
    ages_shown = []
    while time.monotonic() - since < seconds:
        page.wait_for_timeout(400)
        before = time.monotonic() - since
        shown = age(page)
        ages_shown.append((shown, before, time.monotonic() - since))
    return ages_shown


def assert_true(ages_shown):
    """Within two seconds of the actual age, and never decreasing. The last heartbeat may be one second old."""
    for shown, before, after in ages_shown:
        assert before - 2 <= shown <= after + 2, ages_shown
    shown = [item[0] for item in ages_shown]
    assert shown == sorted(shown)


def test_the_age_of_a_frozen_servers_data_is_shown(browser, laptop):
    """C1: within seconds, although every connection is still open; attempts to reconnect do not reset the age."""
    laptop.apply(run("frozen", step("long", "wait")))
    with opened(browser, laptop) as page:
        page.goto("/runs/default/frozen?step=long")
        page.locator(".run-head .fresh.live").wait_for()
        page.locator(".panel .fresh.live").wait_for()
        listed = page.context.new_page()
        listed.set_default_timeout(MILLISECONDS)
        listed.goto("/")
        listed.locator(".fresh.live").wait_for()
        os.kill(laptop.up.pid, signal.SIGSTOP)
        since = time.monotonic()
        try:
            listed.locator(".stale-notice").wait_for()
            noticed = time.monotonic() - since
            # Longer than a connection may be silent before it is replaced.
            listed_ages = ages(listed, since, 13)
            page.locator(".panel .fresh.stale").wait_for()
            assert page.locator(".fresh.live").count() == 0
            run_ages = ages(page, since, 15)
            picture(page, "frozen")
        finally:
            os.kill(laptop.up.pid, signal.SIGCONT)
        print(f"\nnot live {noticed:.1f} s after the last message; ages shown: {listed_ages[-1]}")  # noqa: T201
        assert noticed <= 3.5 * crowding()
        assert_true(listed_ages)
        assert_true(run_ages)
        for one in (page, listed):
            one.locator(".stale-notice").wait_for(state="detached")
            one.locator(".fresh.live").first.wait_for()
    laptop.done("cancel", "frozen", "--wait")


def test_the_age_of_a_killed_servers_data_keeps_growing(browser, laptop):
    """C1: refused connections are no messages; the age grows until the server is back."""
    with opened(browser, laptop) as page:
        page.get_by_role("link", name="fine").wait_for()
        page.locator(".fresh.live").wait_for()
        laptop.stop(signal.SIGKILL)
        since = time.monotonic()
        page.locator(".stale-notice").wait_for()
        assert time.monotonic() - since <= 3.5 * crowding()
        ages_shown = ages(page, since, 10)
        page.get_by_text("jangar status").wait_for()
        picture(page, "killed")
        laptop.start()
        assert_true(ages_shown)
        page.locator(".stale-notice").wait_for(state="detached")
        page.locator(".fresh.live").wait_for()


def test_every_polling_view_shows_when_its_data_is_stale(browser, laptop):
    """C1: the control plane, the orchestrations and the kinds poll every few seconds; on failure they say so."""
    with opened(browser, laptop) as page:
        for view in ("/control-plane", "/orchestrations", "/kinds/tools"):
            page.goto(view)
            page.get_by_role("link", name=re.compile("say|greeting|Running")).first.wait_for()
            page.route("**/v1/**", lambda route: route.abort())
            page.get_by_text("Not live.").wait_for()
            page.unroute("**/v1/**")
            page.get_by_text("Not live.").wait_for(state="detached")


def test_an_ended_run_is_not_shown_as_live(browser, laptop):
    """C1, C12: nothing of it will change, so the page does not announce changes."""
    with opened(browser, laptop) as page:
        page.goto("/runs/default/fine")
        page.locator(".run-head .phase-Succeeded").wait_for()
        page.wait_for_timeout(1500)
        assert page.locator(".fresh").count() == 0


def test_an_expired_link_says_what_to_do(browser, laptop):
    """C7: a page instead of raw JSON; the token is removed from the address, and the right one opens it."""
    http = LaptopClient(laptop)
    context = browser.new_context(viewport=WIDE, base_url=http.url)
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    page.goto("/runs/default/fine?token=of-yesterday")
    page.get_by_role("heading", name="This link is no longer valid").wait_for()
    page.get_by_text("jangar status", exact=True).wait_for()
    page.get_by_text("jangar up --detach", exact=True).wait_for()
    assert "token" not in page.url
    picture(page, "old-link")
    page.get_by_label("Token", exact=True).fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    page.get_by_text("This token is wrong").wait_for()
    assert page.get_by_label("Token", exact=True).get_attribute("aria-invalid") == "true"
    page.get_by_label("Token", exact=True).fill(http.token)
    page.get_by_role("button", name="Sign in").click()
    page.locator(".run-head .phase-Succeeded").wait_for()
    context.close()


@pytest.mark.parametrize("moment", ["at-start", "midway"])
def test_a_lost_session_is_reported(browser, laptop, moment):
    """C7: before the page asks for the token, it says what happened."""
    with opened(browser, laptop) as page:
        page.get_by_role("link", name="fine").wait_for()
        cookie = page.context.cookies()[0]
        page.context.clear_cookies()
        page.context.add_cookies([cookie | {"value": "1.forged"}])
        if moment == "at-start":
            page.reload()
        else:
            page.get_by_role("link", name="fine").click()
        page.get_by_role("heading", name="Your session has ended").wait_for()
        page.get_by_text("A session lasts 30 days").wait_for()
        picture(page, f"lost-session-{moment}")
        page.get_by_label("Token", exact=True).fill(LaptopClient(laptop).token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("fine", exact=True).first.wait_for()
