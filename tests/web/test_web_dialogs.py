"""Dialogs before actions, and views of definitions, nested runs, lists and timelines."""

import re

import pytest

from e2e.laptop_process import run, step
from web.browser_page import HUGE, NARROW, WIDE, opened, picture

pytestmark = pytest.mark.xdist_group("laptop")

PLAIN_TICKS = {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20}


def test_delete_says_what_stays_and_it_does(page, laptop):
    """C3: the row and the log stay readable; "is deleted" and "deleted in 29d" never appear together."""
    laptop.apply(run("doomed", step("one", "say"), step("two", "say", "one")))
    laptop.until(lambda: laptop.phase("doomed") == "Succeeded")
    page.goto("/runs/default/doomed")
    page.get_by_text("kept for 29d").wait_for()
    other = page.context.new_page()
    other.goto("/runs/default/doomed")
    other.get_by_text("kept for 29d").wait_for()
    page.get_by_role("button", name="Delete").click()
    dialog = page.get_by_role("dialog")
    words = " ".join(dialog.inner_text().split())
    assert "deleted from Kubernetes" in words
    assert "record stays readable in the history forever, the ends of its logs for 7 days" in words
    picture(page, "delete")
    dialog.get_by_role("button", name="Delete").click()
    page.get_by_role("link", name="doomed").wait_for()
    other.get_by_text("doomed was deleted.").wait_for()
    other.get_by_text("You see its record in the history.").wait_for()
    head = other.locator(".run-head").inner_text()
    assert "from history" in head
    assert "kept for" not in head
    other.goto("/runs/default/doomed?step=one")
    other.locator(".line", has_text="world").wait_for()
    picture(other, "deleted")
    other.goto("/runs/default/doomed?view=about")
    other.get_by_text("The run is deleted from Kubernetes.").wait_for()


def test_a_run_is_resubmitted_with_other_parameters_in_a_form(page):
    """C4, C8: the form has the previous values, and shows the problem of a new one at its field."""
    page.goto("/orchestrations/default/greeting")
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("words required").fill("first")
    dialog.get_by_label("Name of the run").fill("to-repeat")
    dialog.get_by_role("button", name="Start").click()
    page.locator(".run-head .phase-Succeeded").wait_for()
    page.get_by_role("button", name="Run again").click()
    dialog = page.get_by_role("dialog")
    field = dialog.get_by_label("words required")
    assert field.input_value() == "first"
    field.fill("")
    dialog.get_by_role("button", name="Run", exact=True).click()
    assert dialog.locator("#wrong-words").inner_text() == "✕ Enter a value."
    field.fill("second")
    dialog.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/runs/default/to-repeat-*")
    page.goto(page.url + "?view=about")
    page.locator(".facts-list dd", has_text="second").wait_for()


def test_a_form_shows_a_problem_at_its_field(page):
    """C8: in plain words at the field, before anything is sent and after the server rejected it."""
    page.goto("/orchestrations/default/greeting")
    page.get_by_role("button", name="Run", exact=True).click()
    dialog = page.get_by_role("dialog")
    name = dialog.get_by_label("Name of the run")
    name.fill("Bad Name")
    dialog.get_by_role("button", name="Start").click()
    assert dialog.locator("#wrong-words").inner_text() == "✕ Enter a value."
    assert dialog.locator("#wrong-run-name").inner_text() == "✕ Use lower-case letters only."
    words = dialog.get_by_label("words required")
    assert words.get_attribute("aria-invalid") == "true"
    page.wait_for_function("document.activeElement.id === 'field-words'")
    assert dialog.get_by_label("tone").locator("option").all_inner_texts() == ["kind (default)", "stern"]
    assert "What to say." in dialog.inner_text()
    picture(page, "form-errors")
    words.fill("hello")
    name.fill("fine")
    dialog.get_by_role("button", name="Start").click()
    page.get_by_text("A run of this name exists.").wait_for()
    assert dialog.locator(".notice").count() == 0


def test_nested_runs_are_reachable_from_every_view(page):
    """C5: by their orchestration, in the list on request, and from their parent run."""
    page.goto("/orchestrations/default/pair")
    nested = page.get_by_role("link", name=re.compile("^outer-"))
    nested.first.wait_for()
    page.get_by_text("step of outer").first.wait_for()
    assert page.get_by_text("has not run yet").count() == 0
    page.goto("/")
    page.get_by_role("link", name="outer", exact=True).wait_for()
    assert nested.count() == 0
    page.get_by_role("button", name="Nested runs").click()
    nested.first.wait_for()
    assert "nested=yes" in page.url
    page.goto("/runs/default/outer")
    page.get_by_role("link", name="1 nested run").click()
    nested.first.wait_for()
    page.goto("/runs/default/outer?view=about")
    page.get_by_role("heading", name="Nested runs").wait_for()
    page.get_by_role("link", name=re.compile("^outer-")).click()
    page.get_by_text("part of").wait_for()


def test_a_definition_is_not_shown_as_a_run(page):
    """C12: its steps have no phase, and each shows its YAML when it is selected."""
    page.goto("/orchestrations/default/pair?view=graph")
    node = page.locator(".node[data-step=two]")
    node.wait_for()
    assert page.locator(".node-Pending").count() == 0
    node.hover()
    page.get_by_role("tooltip").get_by_text("starts after one").wait_for()
    assert page.get_by_role("tooltip").get_by_text("Pending").count() == 0
    node.click()
    page.locator(".panel .yaml pre", has_text="toolRef").wait_for()
    assert page.locator(".panel").get_by_text("needs").count() == 1
    picture(page, "definition")
    page.get_by_role("button", name="one", exact=True).click()
    page.locator(".panel h2", has_text="one").wait_for()
    page.keyboard.press("Escape")
    page.locator(".panel").wait_for(state="detached")


def test_the_timeline_has_round_ticks_durations_and_waits(page, laptop):
    """C12: ticks at 1, 2 or 5 times a power of ten, the duration of each step as text, and its waiting time."""
    timed = run("timed", step("one", "say"), step("two", "say"), step("three", "say", "two"))
    timed["spec"]["policies"] = {"maxParallel": 1}
    laptop.apply(timed)
    laptop.until(lambda: laptop.phase("timed") == "Succeeded")
    page.goto("/runs/default/timed?view=timeline")
    page.locator(".timeline .row .took").first.wait_for()
    marks = page.locator(".timeline .scale i").all_inner_texts()
    assert marks[0] == "0"
    times = [float(mark.removesuffix("s")) for mark in marks]
    assert round(times[1], 2) in PLAIN_TICKS
    assert all(abs(item - times[1] * number) < 0.001 for number, item in enumerate(times))
    took = page.locator(".timeline .row .took").all_inner_texts()
    assert len(took) == 3
    assert all(re.fullmatch(r"\d+(\.\d)?s", item) for item in took)
    assert page.locator(".timeline .row .stretch.wait").count() >= 1
    picture(page, "waits")


def test_the_list_has_a_header_and_can_be_sorted_and_filtered(page, laptop):
    """C12: by a click on a column; the address contains both."""
    laptop.apply(
        run("sorted", step("c", "say"), step("a", "break", "c"), step("b", "say", "a"), step("d", "say"))
    )
    laptop.apply(run("many", *(step(f"s{number}", "break" if number == 4 else "say") for number in range(7))))
    laptop.until(lambda: laptop.phase("sorted") == "Failed" and laptop.phase("many") == "Failed")
    page.goto("/runs/default/sorted?view=list")
    names = page.locator(".step-row b")
    names.first.wait_for()
    assert names.all_inner_texts() == ["c", "a", "b", "d"]
    page.get_by_role("button", name="Step", exact=True).click()
    assert names.all_inner_texts() == ["a", "b", "c", "d"]
    page.get_by_role("button", name=re.compile("^Step")).click()
    assert names.all_inner_texts() == ["d", "c", "b", "a"]
    assert "sort=-name" in page.url
    page.goto("/runs/default/many?view=list")
    page.get_by_label("Phase of steps").select_option("Failed")
    page.locator(".step-row", has_text="s4").wait_for()
    assert names.all_inner_texts() == ["s4"]
    picture(page, "sorted")


def test_the_panel_keeps_its_width(page):
    """C12: resized by dragging or by keys, and the same after a reload."""
    page.goto("/runs/default/fine?step=one")
    panel, edge = page.locator(".panel"), page.get_by_role("separator", name="Width of the panel")
    before = panel.bounding_box()
    page.mouse.move(before["x"], 500)
    page.mouse.down()
    page.mouse.move(before["x"] - 150, 500, steps=4)
    page.mouse.up()
    assert abs(panel.bounding_box()["width"] - before["width"] - 150) <= 8
    edge.focus()
    page.keyboard.press("ArrowRight")
    wide = panel.bounding_box()["width"]
    assert abs(wide - before["width"] - 110) <= 8
    page.reload()
    panel.wait_for()
    assert abs(panel.bounding_box()["width"] - wide) <= 1


def test_a_wide_screen_gives_its_space_to_the_reason(browser, laptop):
    """C11: the name takes what it needs, and the columns are aligned with their headers."""
    for size in (WIDE, HUGE):
        with opened(browser, laptop, size) as page:
            row = (
                page.get_by_role("row").filter(has=page.get_by_role("link", name="broken", exact=True)).first
            )
            row.wait_for()
            name, why = row.locator(".title").bounding_box(), row.locator(".said").bounding_box()
            assert name["width"] <= 400
            if size is HUGE:
                assert why["width"] >= 900
                cut = "each => each.scrollWidth > each.clientWidth"
                assert row.locator(".said").evaluate(cut) is False
            heads = page.locator(".run.head > span").all()
            cells = row.locator("> span").all()
            for head, cell in zip(heads[1:], cells[1:], strict=True):
                assert abs(head.bounding_box()["x"] - cell.bounding_box()["x"]) <= 1


def test_a_small_phone_breaks_no_word(browser, laptop):
    """C11: no text overflows in any view of a run."""
    cut = """() => [...document.querySelectorAll('button, .phase, h1, h2, .step-row > *')].flatMap((each) => {
      const box = each.getBoundingClientRect();
      const isHidden = !box.width || each.closest('.hidden, .tab-list, .chips, nav');
      return !isHidden && box.right > innerWidth + 1 ? [each.innerText] : [];
    })"""
    with opened(browser, laptop, NARROW) as page:
        for view in ("list", "graph", "timeline", "about", "events", "yaml"):
            page.goto(f"/runs/default/broken?view={view}")
            page.locator(".run-head .phase-Failed").wait_for()
            page.wait_for_timeout(400)
            assert page.evaluate(cut) == [], view
            picture(page, f"phone-{view}")
