"""The page in a browser: runs are listed, shown, explained, started and stopped."""

import re

import pytest

from e2e.laptop_process import run, step
from web.browser_page import picture

pytestmark = pytest.mark.xdist_group("laptop")


def test_the_list_is_live_and_its_filters_are_in_the_address(page, laptop):
    """A run created elsewhere appears by itself; a filter can be linked to."""
    page.get_by_role("link", name="pipeline").wait_for()
    assert "token" not in page.url
    laptop.apply(run("newcomer", step("only", "say")))
    page.get_by_role("link", name="newcomer").wait_for()
    picture(page, "runs")
    page.get_by_role("button", name="Failed", exact=True).click()
    page.get_by_role("link", name="newcomer").wait_for(state="detached")
    assert page.url.endswith("/?phase=Failed")
    page.reload()
    page.get_by_role("link", name="broken").wait_for()
    assert page.get_by_role("link", name="fine").count() == 0
    page.get_by_role("button", name="Failed", exact=True).click()
    page.get_by_label("Search runs").fill("pipe")
    page.get_by_role("link", name="fine").wait_for(state="detached")
    assert page.url.endswith("/?q=pipe")


def test_a_run_is_started_with_a_form_of_its_parameters(page):
    """Required parameters are requested; the run opens, updates live, and names its creator."""
    page.goto("/orchestrations")
    page.get_by_role("link", name="greeting").wait_for()
    picture(page, "orchestrations")
    page.get_by_role("link", name="greeting").click()
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Start").click()
    assert page.get_by_role("dialog").is_visible()
    dialog.get_by_label("words required").fill("good morning")
    dialog.get_by_label("Name of the run").fill("greeting-by-hand")
    dialog.get_by_role("button", name="Start").click()
    page.wait_for_url("**/runs/default/greeting-by-hand")
    page.locator(".run-head .phase-Succeeded").wait_for()
    page.get_by_text("by owner").wait_for()
    page.locator("[data-step=greet]").click()
    page.get_by_text("good morning").wait_for()
    page.get_by_role("tab", name="In and out").click()
    page.locator(".facts-list dt", has_text="words").wait_for()
    page.goto("/orchestrations/default/greeting")
    page.get_by_text("100%").first.wait_for()
    picture(page, "orchestration")
    page.get_by_role("tab", name="Graph").click()
    page.locator(".node", has_text="greet").wait_for()


def test_a_run_is_shown_explained_followed_and_stopped(page, laptop):
    """The graph shows every step, the panel why one waits and the log of another, and the button stops all of it."""
    page.get_by_role("link", name="pipeline").click()
    page.locator(".node-Running", has_text="build").wait_for()
    assert page.locator(".node").count() == 6
    page.locator(".node", has_text="publish").hover()
    page.get_by_role("tooltip").get_by_text("waits for test (Pending), package (Pending)").wait_for()
    page.locator(".node", has_text="publish").click()
    page.locator(".panel .why").get_by_text("waits for test (Pending), package (Pending)").wait_for()
    page.locator(".node", has_text="build").click()
    page.get_by_text("line 6", exact=True).wait_for()
    last = page.locator(".line").last
    first_shown = last.inner_text()
    page.wait_for_function(
        "seen => document.querySelector('.line:last-child')?.innerText !== seen", arg=first_shown
    )
    page.get_by_label("Search the log").fill("line 5")
    page.locator(".line.current", has_text=re.compile("^line 5$")).wait_for()
    page.get_by_label("Search the log").fill("")
    picture(page, "run")
    page.get_by_role("tab", name="Timeline").click()
    page.locator(".stretch").first.wait_for()
    picture(page, "timeline")
    page.get_by_role("tab", name="List").click()
    page.locator(".step-row", has_text="fetch").focus()
    page.keyboard.press("ArrowDown")
    assert "lint" in page.locator(":focus").inner_text()
    picture(page, "list")
    page.get_by_role("tab", name="Graph").click()
    page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("These steps are stopped:").wait_for()
    assert "build" in dialog.inner_text()
    assert "3 steps will not start" in dialog.inner_text()
    picture(page, "cancel")
    dialog.get_by_role("button", name="Cancel the run").click()
    page.locator(".node-Cancelled", has_text="build").wait_for()
    page.locator(".run-head .phase-Cancelled").wait_for()
    assert laptop.phase("pipeline") == "Cancelled"


def test_several_runs_are_cancelled_together(page, laptop):
    """The selected ones, and no others."""
    laptop.apply(*(run(f"crowd-{number}", step("only", "wait")) for number in (1, 2, 3)))
    page.get_by_label("Search runs").fill("crowd")
    for number in (1, 3):
        page.get_by_label(f"Select crowd-{number}").check()
    page.get_by_role("button", name="Cancel 2").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel them").click()
    for number in (1, 3):
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name=f"crowd-{number}"))
        row.locator(".phase-Cancelled").wait_for()
    assert laptop.phase("crowd-2") == "Running"
    laptop.done("cancel", "crowd-2")


def test_a_failed_run_is_retried_from_the_page(page):
    """C4: it shows which steps run again and which are kept; the new run names its origin, and the original its
    retry.
    """
    page.goto("/runs/default/broken?step=bad")
    page.get_by_text("trouble").wait_for()
    picture(page, "failed")
    page.get_by_role("button", name="Retry", exact=True).click()
    dialog = page.get_by_role("dialog")
    again = dialog.get_by_role("list", name="Steps that run again")
    kept = dialog.get_by_role("list", name="Steps that are kept")
    assert again.inner_text().split() == ["↻", "bad", "↻", "never"]
    assert kept.inner_text().split() == ["✓", "first"]
    assert "A retry cannot change parameters yet" in dialog.inner_text()
    picture(page, "retry")
    dialog.get_by_role("button", name="Retry").click()
    page.get_by_text("retry of").wait_for()
    assert "/runs/default/broken-" in page.url
    page.locator(".run-head .phase-Failed").wait_for()
    made = page.locator("h1").inner_text()
    assert "kept" in page.locator("[data-step=first]").inner_text()
    page.get_by_role("link", name="broken", exact=True).click()
    page.wait_for_url("**/runs/default/broken")
    page.get_by_text("retried by").wait_for()
    page.get_by_role("link", name=made, exact=True).wait_for()


def test_a_nested_run_opens_inside_its_parent(page):
    """Its steps appear inside its step, each with its own log, and the address contains it."""
    page.goto("/runs/default/outer")
    page.get_by_role("button", name="Show the steps of inner here").click()
    page.locator("[data-step='inner/two']").click()
    page.locator(".line", has_text="world").wait_for()
    assert page.locator(".ansi-fg-2").inner_text() == "world"
    assert "step=inner%2Ftwo" in page.url
    picture(page, "nested")
    page.reload()
    page.locator("[data-step='inner/two']").wait_for()
    page.get_by_role("button", name="Hide the steps of inner").click()
    page.locator("[data-step='inner/two']").wait_for(state="detached")


def test_a_run_is_suspended_and_resumed(page, laptop):
    """With the button or the key."""
    laptop.apply(run("held", step("one", "wait"), step("two", "say", "one")))
    page.goto("/runs/default/held")
    page.locator(".node-Running", has_text="one").wait_for()
    page.get_by_role("button", name="Suspend").click()
    page.locator(".tag", has_text="suspended").wait_for()
    page.keyboard.press("s")
    page.locator(".tag", has_text="suspended").wait_for(state="detached")
    laptop.done("cancel", "held", "--wait")


def test_planned_deletion_is_shown(page):
    """On the run's own page with the deciding setting; and in the control plane's list."""
    page.goto("/runs/default/fine?view=about")
    page.get_by_text("Retention").wait_for()
    page.get_by_text(re.compile("in 29d: ")).wait_for()
    picture(page, "about")
    page.goto("/control-plane")
    page.get_by_role("heading", name="Next deletions").wait_for()
    page.get_by_text("✓ healthy").wait_for()
    page.locator("tr", has_text="orchestrationrun").wait_for()
    picture(page, "control-plane")


def test_every_kind_is_listed_and_shown_from_its_schema(page):
    """For example Tools: columns, fields with their description, YAML. A kind that is not built shows that (GATE-1)."""
    page.goto("/kinds/tools")
    page.get_by_role("link", name="say", exact=True).wait_for()
    picture(page, "kinds")
    page.get_by_role("link", name="say", exact=True).click()
    page.locator(".field-table dt", has_text="command").wait_for()
    picture(page, "kind")
    page.get_by_role("tab", name="YAML").click()
    page.locator(".yaml pre", has_text="kind: Tool").wait_for()
    page.get_by_role("link", name="Swarm not built", exact=True).click()
    page.get_by_text("Swarm is not built yet.").wait_for()
    page.get_by_text("Until then, start OrchestrationRuns yourself.").wait_for()
    picture(page, "not-built")
    page.get_by_text("There is no Swarm yet").wait_for()
    page.get_by_text("kubectl explain swarms.spec").wait_for()


def test_every_view_is_reachable_by_keyboard(page):
    """No action needs a mouse."""
    page.get_by_role("link", name="fine").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.wait_for_url("**/orchestrations")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.get_by_role("link", name="fine").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("fine")
    page.get_by_role("link", name="pipeline").wait_for(state="detached")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/default/fine")
    page.locator(".node").first.wait_for()
    page.keyboard.press("3")
    page.locator(".step-row").first.wait_for()
    page.keyboard.press("j")
    page.locator(".panel", has_text="one").wait_for()
    page.keyboard.press("Escape")
    page.locator(".panel").wait_for(state="detached")
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
