"""A real browser with a real `jangar up`: opens the page as its owner, and checks common to every view."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.laptop_client import LaptopClient
from e2e.laptop_process import LaptopProcess

CHROMIUM = shutil.which("chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 380, "height": 800}
HUGE = {"width": 2560, "height": 1300}
SIZES = {"1280": WIDE, "380": NARROW, "2560": HUGE}
MILLISECONDS = 30_000
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def require_browser():
    """playwright's API, or a skip with the reason."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (pip install playwright)"
    )
    if CHROMIUM is None:
        pytest.skip("there is no chromium (Debian: apt-get install chromium)")
    return api


@contextmanager
def launched() -> Iterator:
    with require_browser().sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield browser
        browser.close()


@contextmanager
def opened(browser, laptop: LaptopProcess, size=WIDE) -> Iterator:
    """Opened with the URL that `jangar up` prints; errors of the page's scripts fail the test."""
    http = LaptopClient(laptop)
    context = browser.new_context(viewport=size, base_url=http.url, reduced_motion="reduce")
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"/?token={http.token}")
    yield page
    context.close()
    assert errors == []


def picture(page, name: str) -> None:
    """With JANGAR_SCREENSHOTS=DIR save screenshots at three widths, light and dark."""
    directory = os.environ.get("JANGAR_SCREENSHOTS")
    if not directory:
        return
    at_first = page.viewport_size
    for width, size in SIZES.items():
        page.set_viewport_size(size)
        for theme in ("light", "dark"):
            page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
            page.wait_for_timeout(500)
            page.screenshot(path=Path(directory) / f"{name}-{width}-{theme}.png")
    page.set_viewport_size(at_first)


def themed(page, theme: str) -> None:
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)


def faults(page) -> list[str]:
    """Serious axe findings in both themes."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed (cd web && npm install)")
    violations = []
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        # Not with an added script: the page's own policy forbids those.
        page.evaluate(AXE.read_text())
        reported = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
        violations += [
            f"{theme}: {violation['id']}: {node['html'][:200]} {node['failureSummary']}"
            for violation in reported["violations"]
            if violation["impact"] in {"serious", "critical"}
            for node in violation["nodes"][:1]
        ]
    return violations
