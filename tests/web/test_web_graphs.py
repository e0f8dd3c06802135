"""Large graphs: readable text, distinct names, nothing that overlaps, and no unwanted movement."""

import re

import pytest

from e2e.laptop_process import LaptopProcess, run, step, tool
from web.browser_page import HUGE, NARROW, WIDE, opened, picture, require_browser, themed

pytestmark = pytest.mark.xdist_group("laptop")

SIZES = {"380": NARROW, "1280": WIDE, "2560": HUGE}
STEPS, ITEMS, ROW = 60, 300, 6
MIN_PIXELS = 11
LONG_NAME = "process-customer-records-region-{:03}"

TEXTS = """() => [...document.querySelectorAll('.node .name, .node .under, .node .count')]
  .filter((each) => each.getClientRects().length && getComputedStyle(each).visibility === 'visible' && each.innerText)
  .map((each) => {
    const zoom = each.getBoundingClientRect().width / each.offsetWidth;
    return {
      text: each.innerText,
      pixels: parseFloat(getComputedStyle(each).fontSize) * zoom,
      isCut: each.className === 'name' && each.scrollWidth > each.clientWidth,
      name: each.className === 'name' ? each.innerText : null,
    };
  })"""
COVERED = """() => {
  const canvas = document.querySelector('.canvas').getBoundingClientRect();
  const parts = [...document.querySelectorAll('.react-flow__minimap, .react-flow__controls, .graph-foot')];
  return parts.flatMap((part) => {
    const box = part.getBoundingClientRect();
    const isBeside = box.top >= canvas.bottom || box.bottom <= canvas.top;
    return isBeside || !box.width ? [] : [part.className];
  });
}"""
POSITIONS = """() => Object.fromEntries([...document.querySelectorAll('.node[data-step]')].map((each) => {
  const box = each.getBoundingClientRect();
  return [each.dataset.step, [Math.round(box.left), Math.round(box.top)]];
}))"""
BROKEN = """() => [...document.querySelectorAll('.step-row > *, .top nav a, .tab-list button')].flatMap((each) => {
  const range = document.createRange();
  const found = [];
  const walk = document.createTreeWalker(each, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    for (const match of walk.currentNode.data.matchAll(/[^\\s-]+/g)) {
      range.setStart(walk.currentNode, match.index);
      range.setEnd(walk.currentNode, match.index + match[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) found.push(match[0]);
    }
  }
  return found;
})"""


def mesh(size):
    """Each step needs two of the previous row; one of them fails, and its dependents are skipped."""
    for number in range(size):
        row, column = divmod(number, ROW)
        needs = {(row - 1) * ROW + column, (row - 1) * ROW + (column + 1) % ROW} if row else set()
        used = "break" if number == 20 else "say"
        yield step(LONG_NAME.format(number), used, *(LONG_NAME.format(need) for need in sorted(needs)))


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    require_browser()
    process = LaptopProcess(tmp_path_factory.mktemp("graphs"))
    process.start()
    fan = run(
        "fan",
        step("plan", "say"),
        *(step(f"item-{number}", "say", "plan") for number in range(ITEMS)),
        step("collect", "say", *(f"item-{number}" for number in range(ITEMS))),
    )
    fan["spec"]["suspend"] = True
    process.apply(
        tool("say", "echo hello"),
        tool("break", "exit 3"),
        tool("wait", "sleep 300"),
        run("mesh", *mesh(STEPS)),
        fan,
        run("moving", *(step(f"s{number}", "wait" if number == 5 else "say") for number in range(12))),
    )
    process.until(lambda: process.phase("mesh") == "Failed", seconds=180)
    yield process
    process.end()


@pytest.fixture(params=SIZES, ids=lambda width: f"{width}px")
def sized(request, browser, laptop):
    with opened(browser, laptop, SIZES[request.param]) as page:
        yield page


def check_texts(page):
    texts = page.evaluate(TEXTS)
    assert texts
    assert [text for text in texts if text["pixels"] < MIN_PIXELS] == []
    assert [text for text in texts if text["isCut"]] == []
    names = [text["name"] for text in texts if text["name"]]
    assert sorted(set(names)) == sorted(names)
    assert page.evaluate(COVERED) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_sixty_steps_can_be_read(sized, theme):
    """C2: no text below 11 pixels at any width, no equal names, nothing over the steps, also when zoomed out."""
    sized.goto("/runs/default/mesh?view=graph")
    themed(sized, theme)
    sized.locator(".node").first.wait_for()
    sized.wait_for_timeout(300)
    check_texts(sized)
    if theme == "light":
        picture(sized, "mesh")
    for _ in range(2):
        sized.get_by_role("button", name="zoom out").click()
        sized.wait_for_timeout(400)
        check_texts(sized)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_opened_fan_out_has_names_and_can_be_closed(sized, theme):
    """C10: three hundred items as one; opened, each has its name; the address contains it; two buttons close it."""
    sized.goto("/runs/default/fan?view=graph")
    themed(sized, theme)
    sized.locator(".node.stack").click()
    sized.locator(".node[data-step=item-0]").wait_for()
    sized.wait_for_timeout(300)
    check_texts(sized)
    assert sized.locator(".node[data-step=item-0] .name").inner_text() == "item-0"
    sized.locator(".node[data-step=item-0]").hover()
    sized.get_by_role("tooltip").get_by_text("item-0").wait_for()
    if theme == "light":
        picture(sized, "fan-out")
    sized.reload()
    sized.locator(".node[data-step^=item-]").first.wait_for()
    sized.locator(".graph-foot .chip", has_text=re.compile("item .300")).click()
    sized.locator(".node.stack").wait_for()
    assert "open" not in sized.url


def test_the_small_map_follows_the_theme(browser, laptop):
    """C2: dark on a dark page."""
    with opened(browser, laptop) as page:
        page.goto("/runs/default/mesh")
        shown = page.locator(".react-flow__minimap")
        shown.wait_for()
        brightness = {}
        for theme in ("light", "dark"):
            themed(page, theme)
            color = shown.evaluate("each => getComputedStyle(each).backgroundColor")
            brightness[theme] = sum(int(item) for item in re.findall(r"\d+", color)[:3])
        assert brightness["light"] > 600
        assert brightness["dark"] < 150


def test_the_search_jumps_to_a_step(browser, laptop):
    """C2: the search counts its matches, centers each, and opens the stack that hides it."""
    with opened(browser, laptop) as page:
        page.goto("/runs/default/mesh")
        finder = page.get_by_label("Find a step")
        finder.fill("region-05")
        page.get_by_text("10 matches").wait_for()
        for number in ("050", "051"):
            finder.press("Enter")
            page.locator(".panel h2", has_text=number).wait_for()
            chosen = page.locator(".node.chosen")
            chosen.wait_for()
            assert chosen.get_attribute("data-step").endswith(number)
            page.wait_for_timeout(300)
            box, room = chosen.bounding_box(), page.locator(".canvas").bounding_box()
            assert room["x"] <= box["x"]
            assert box["x"] + box["width"] <= room["x"] + room["width"]
        page.goto("/runs/default/fan")
        page.locator(".node.stack").wait_for()
        page.get_by_label("Find a step").fill("item-217")
        page.get_by_label("Find a step").press("Enter")
        page.locator(".node.chosen[data-step=item-217]").wait_for()


def test_the_graph_does_not_move_by_itself(browser, laptop):
    """C6: neither a panel nor a live change moves it under a resting pointer, and no other step's card appears."""
    with opened(browser, laptop) as page:
        page.goto("/runs/default/mesh")
        first = page.locator(".node[data-step='process-customer-records-region-003']")
        first.wait_for()
        page.wait_for_timeout(500)
        before = page.evaluate(POSITIONS)
        first.click()
        page.locator(".panel").wait_for()
        page.wait_for_timeout(500)
        assert page.evaluate(POSITIONS) == before
        page.keyboard.press("Escape")
        page.locator(".panel").wait_for(state="detached")
        page.wait_for_timeout(300)
        assert page.evaluate(POSITIONS) == before
        # After a manual move it stays there while the run changes.
        page.goto("/runs/default/moving")
        page.locator(".node-Running[data-step=s5]").wait_for()
        page.mouse.move(900, 400)
        page.mouse.down()
        page.mouse.move(820, 340, steps=5)
        page.mouse.up()
        before = page.evaluate(POSITIONS)
        laptop.done("cancel", "moving", "--wait")
        page.locator(".node-Cancelled[data-step=s5]").wait_for()
        assert page.evaluate(POSITIONS) == before
        assert page.locator(".hint").count() == 0


def test_a_card_appears_only_under_a_moving_pointer(browser, laptop):
    """C6: a step that slides under a resting pointer shows no card; the pointer must move."""
    with opened(browser, laptop) as page:
        page.goto("/runs/default/mesh")
        one = page.locator(".node[data-step='process-customer-records-region-003']")
        one.hover()
        page.get_by_role("tooltip").get_by_text("region-003").wait_for()
        page.keyboard.press("/")
        page.keyboard.type("region-055")
        page.keyboard.press("Enter")
        page.locator(".node.chosen").wait_for()
        page.wait_for_timeout(500)
        assert page.locator(".hint").count() == 0


def test_the_whole_graph_is_shapes_without_text(browser, laptop):
    """C2: zoomed out there is no unreadable text; shapes still react to the pointer."""
    with opened(browser, laptop) as page:
        page.goto("/runs/default/fan?open=~item-0")
        page.locator(".node[data-step^=item-]").first.wait_for()
        page.get_by_role("button", name="The whole graph").click()
        canvas = page.locator("canvas[data-boxes]")
        canvas.wait_for()
        assert page.evaluate(TEXTS) == []
        box = page.locator(".canvas").bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.move(box["x"] + box["width"] / 2 + 3, box["y"] + box["height"] / 2 + 2)
        page.get_by_role("tooltip").get_by_text(re.compile(r"item(-\d+| .300)")).first.wait_for()
        picture(page, "whole")


def test_a_phone_gets_the_list_first(browser, laptop):
    """C2, C11: rows with unbroken words; the graph is one tap away; the views have the same names as on the desktop."""
    with opened(browser, laptop, NARROW) as page:
        page.goto("/runs/default/mesh")
        page.locator(".step-row").first.wait_for()
        tabs = page.get_by_role("tablist", name="Views of the run").get_by_role("tab")
        assert tabs.all_inner_texts()[:2] == ["List", "Graph"]
        assert page.evaluate(BROKEN) == []
        names = page.get_by_role("navigation", name="Views").get_by_role("link").all_inner_texts()
        assert names == ["Runs", "Orchestrations", "Kinds", "Control plane"]
        picture(page, "phone")
        page.get_by_role("tab", name="Graph").click()
        page.locator(".node").first.wait_for()
        assert "view=graph" in page.url
    with opened(browser, laptop, WIDE) as page:
        brightness = page.get_by_role("navigation", name="Views").get_by_role("link").all_inner_texts()
        assert brightness == names


def test_the_critical_path_of_a_failed_run_ends_at_the_failure(browser, laptop):
    """C9: with its own mark and no phase color; the bar shows failures, the text skipped steps."""
    with opened(browser, laptop) as page:
        page.goto("/runs/default/mesh")
        failed = page.locator(".node-Failed.on-path")
        failed.wait_for()
        assert failed.get_attribute("data-step") == LONG_NAME.format(20)
        assert failed.locator(".path-mark").inner_text() == "◆"
        words = page.locator(".run-head .count").inner_text()
        assert re.fullmatch(r"\d+ succeeded, 1 failed, \d+ skipped", words)
        red = page.locator(".run-head .fill-Failed").bounding_box()
        assert red["width"] >= 4
        page.goto("/")
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name="mesh", exact=True))
        assert re.fullmatch(r"✓\d+ ✕1 ⤼\d+", row.locator(".count").inner_text())
        assert row.locator(".fill-Failed").bounding_box()["width"] >= 4
