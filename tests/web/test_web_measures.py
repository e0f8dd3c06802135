"""The page's performance and accessibility: how soon a change and a thousand steps are shown, and axe checks."""

import json
import os
import ssl
import time
import urllib.request
from base64 import b64decode

import pytest
import yaml

from e2e.laptop_process import run, step
from web.browser_page import HUGE, NARROW, faults, opened

pytestmark = pytest.mark.xdist_group("laptop")

SHOWN_SECONDS = 0.3
FIRST_VIEW_SECONDS = 2.0
CHANGES = 60
STEPS = 1000
VIEWS = (
    "/",
    "/?q=nothing-is-called-so",
    "/runs/default/fine",
    "/runs/default/fine?step=two",
    "/runs/default/broken?step=bad&panel=yaml",
    "/runs/default/broken?step=bad&panel=events",
    "/runs/default/outer?open=inner&step=inner/one&panel=data",
    "/runs/default/fine?view=list",
    "/runs/default/fine?view=timeline",
    "/runs/default/fine?view=about",
    "/runs/default/fine?view=events",
    "/runs/default/fine?view=yaml",
    "/runs/default/nowhere",
    "/orchestrations",
    "/orchestrations/default/greeting",
    "/orchestrations/default/greeting?view=graph",
    "/orchestrations/default/greeting?view=parameters",
    "/kinds/tools",
    "/kinds/tools/default/say",
    "/kinds/swarms",
    "/control-plane",
)


def shown(page, view):
    """Opened and loaded: its streams never end, so network idleness is no signal."""
    page.goto(view)
    page.locator("h1").first.wait_for()
    page.wait_for_timeout(600)


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_serious(page, view):
    """In any view, light or dark."""
    shown(page, view)
    assert faults(page) == []


@pytest.mark.parametrize("what", ["dialog", "keys", "start"])
def test_axe_finds_nothing_serious_in_dialogs(page, what):
    """Nor in dialogs."""
    match what:
        case "dialog":
            page.goto("/runs/default/broken")
            page.get_by_role("button", name="Retry", exact=True).click()
        case "keys":
            shown(page, "/")
            page.keyboard.press("?")
        case _:
            page.goto("/orchestrations/default/greeting")
            page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("dialog").wait_for()
    assert faults(page) == []


@pytest.mark.parametrize("size", [NARROW, HUGE], ids=["380px", "2560px"])
def test_nothing_is_wider_than_the_window(browser, laptop, size):
    """No view scrolls sideways as a whole, from a small phone to a large screen."""
    with opened(browser, laptop, size) as page:
        too_wide = []
        for view in VIEWS:
            shown(page, view)
            if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                too_wide.append(view)
        assert too_wide == []


def crowding() -> float:
    """The load per CPU: the limits apply to an otherwise idle machine."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Status:
    """Writes the status of one run, as a controller would."""

    def __init__(self, laptop, name):
        config = yaml.safe_load((laptop.data / "kubeconfig").read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self._context = ssl.create_default_context(cadata=_pem(cluster, "certificate-authority"))
        self._headers = {"Content-Type": "application/merge-patch+json"}
        if "token" in user:
            self._headers["Authorization"] = f"Bearer {user['token']}"
        group = "apis/orchestration.proompteng.ai/v1alpha1/namespaces/default/orchestrationruns"
        self._url = f"{cluster['server']}/{group}/{name}/status"

    def write(self, **status):
        body = json.dumps({"status": status}).encode()
        request = urllib.request.Request(self._url, body, self._headers, method="PATCH")  # noqa: S310
        with urllib.request.urlopen(request, context=self._context, timeout=30) as answer:  # noqa: S310
            answer.read()


def _pem(entry, name):
    if f"{name}-data" in entry:
        return b64decode(entry[f"{name}-data"]).decode()
    with open(entry[name]) as file:  # noqa: PTH123
        return file.read()


WATCH = """() => {
  window.seen = {};
  new MutationObserver(() => {
    const text = document.querySelector('.message')?.innerText ?? '';
    const mark = /change-\\d+/.exec(text)?.[0];
    if (!mark || window.seen[mark]) return;
    window.seen[mark] = 1;
    // The frame after the one in which it is drawn: by then it is on the screen.
    requestAnimationFrame(() => requestAnimationFrame(() => { window.seen[mark] = Date.now(); }));
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def test_a_change_is_on_the_screen_within_a_third_of_a_second(page, laptop):
    """From the request of a status write to the drawn pixel, p95."""
    page.goto("/runs/default/fine")
    page.locator(".node-Succeeded").first.wait_for()
    page.evaluate(WATCH)
    status, took = Status(laptop, "fine"), []
    for number in range(CHANGES):
        began = time.time()
        status.write(message=f"change-{number}")
        page.wait_for_function("mark => window.seen[mark] > 1", arg=f"change-{number}")
        took.append(page.evaluate(f"window.seen['change-{number}']") / 1000 - began)
        time.sleep(0.12)
    took.sort()
    p95 = took[int(0.95 * len(took)) - 1]
    print(f"\nstatus write to pixel: median {took[len(took) // 2] * 1000:.0f} ms, p95 {p95 * 1000:.0f} ms")  # noqa: T201
    assert p95 <= SHOWN_SECONDS * crowding()


@pytest.mark.parametrize("shape", ["fan", "mesh"])
def test_a_thousand_steps_are_shown_within_two_seconds(browser, laptop, shape):
    """From the request of the page to its first drawn steps; equal ones as one group, which opens."""
    width = 100
    if shape == "fan":
        steps = [step("plan", "say"), *(step(f"part-{n}", "say", "plan") for n in range(STEPS - 1))]
    else:
        steps = [
            step(f"s{n}", "say", *({f"s{n - width}", f"s{n - width + n % 7 % 2}"} if n >= width else ()))
            for n in range(STEPS)
        ]
    made = run(f"big-{shape}", *steps)
    made["spec"]["suspend"] = True
    laptop.apply(made)
    laptop.until(lambda: laptop.run(f"big-{shape}").get("status"))
    with opened(browser, laptop) as page:
        took = []
        for _ in range(3):
            page.goto("about:blank")
            began = time.monotonic()
            page.goto(f"/runs/default/big-{shape}")
            page.locator(".node.stack" if shape == "fan" else ".node[data-step=s0]").wait_for()
            took.append(time.monotonic() - began)
        print(f"\nfirst view of {STEPS} steps ({shape}): {', '.join(f'{item:.2f}' for item in took)} s")  # noqa: T201
        if shape == "fan":
            page.locator(".node.stack").click()
            page.locator(".node[data-step=part-0]").wait_for()
            page.locator(".hint").wait_for(state="detached")
        page.get_by_label("Find a step").fill("42")
        page.keyboard.press("Enter")
        page.locator(".panel").wait_for()
        # Too many for DOM elements: shapes on a canvas, which still react to the pointer.
        page.get_by_role("button", name="The whole graph").click()
        page.locator(f"canvas[data-boxes='{STEPS + (shape == 'fan')}']").wait_for()
        assert sorted(took)[1] <= FIRST_VIEW_SECONDS * crowding()
    laptop.done("cancel", f"big-{shape}", "--wait")
