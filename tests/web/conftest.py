"""One browser and one `jangar up` for the tests of a module."""

import pytest

from e2e.laptop_process import LaptopProcess, run, step, tool
from web.browser_page import launched, opened, require_browser


def orchestration(name, *steps, **spec):
    return {
        "apiVersion": "orchestration.proompteng.ai/v1alpha1",
        "kind": "Orchestration",
        "metadata": {"name": name},
        "spec": {"steps": list(steps), **spec},
    }


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    """With an active run, a failed one, a succeeded one, and one with a nested run."""
    require_browser()
    process = LaptopProcess(tmp_path_factory.mktemp("web"))
    process.start()
    process.apply(
        tool("say", "echo hello; sleep 0.3; printf '\\033[32mworld\\033[0m\\n'"),
        tool("wait", "i=0; while [ $i -lt 1500 ]; do i=$((i+1)); echo line $i; sleep 0.2; done"),
        tool("break", "echo trouble; exit 3"),
        tool("greet", "echo {{ parameters.words }}"),
        orchestration(
            "greeting",
            {
                "name": "greet",
                "kind": "ToolRun",
                "toolRef": {"name": "greet"},
                "with": {"words": "{{ parameters.words }}"},
            },
            parameters=[
                {"name": "words", "required": True, "description": "What to say."},
                {"name": "tone", "enum": ["kind", "stern"], "default": "kind"},
            ],
        ),
        orchestration("pair", step("one", "say"), step("two", "say", "one")),
        run(
            "pipeline",
            step("fetch", "say"),
            step("lint", "say", "fetch"),
            step("build", "wait", "fetch"),
            step("test", "say", "build"),
            step("package", "say", "build", "lint"),
            step("publish", "say", "test", "package"),
        ),
        run("broken", step("first", "say"), step("bad", "break", "first"), step("never", "say", "bad")),
        run("fine", step("one", "say"), step("two", "say", "one")),
        run(
            "outer",
            {
                "name": "inner",
                "kind": "SubOrchestration",
                "orchestrationRef": {"name": "pair"},
                "dependsOn": [],
            },
            step("after", "say", "inner"),
        ),
    )
    process.until(
        lambda: (
            process.phase("broken") == "Failed"
            and process.phase("fine") == process.phase("outer") == "Succeeded"
        )
    )
    yield process
    process.end()


@pytest.fixture(scope="module")
def browser():
    with launched() as opened_browser:
        yield opened_browser


@pytest.fixture
def page(browser, laptop):
    with opened(browser, laptop) as one:
        yield one
