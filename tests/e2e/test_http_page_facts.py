"""Data for the web page over HTTP: retries, nested runs, field errors, and expired links."""

import json

import pytest

from e2e.laptop_client import LaptopClient
from e2e.laptop_process import LaptopProcess, run, step, tool

pytestmark = pytest.mark.xdist_group("laptop")

R = "/v1/namespaces/default/runs"
BROWSER = "text/html,application/xhtml+xml"


class ElsewhereProcess(LaptopProcess):
    """A `jangar up` whose data directory is not the default one."""

    def __init__(self, home) -> None:
        super().__init__(home)
        self.data = home / "my data"

    def jangar(self, *words, stdin="", **environment):
        return super().jangar(*words, "--data-dir", self.data, stdin=stdin, **environment)

    def start(self, *options) -> None:
        super().start("--data-dir", str(self.data), *options)


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    process = ElsewhereProcess(tmp_path_factory.mktemp("facts"))
    process.start()
    process.apply(
        tool("say", "echo hello"),
        tool("break", "exit 3"),
        {
            "apiVersion": "orchestration.proompteng.ai/v1alpha1",
            "kind": "Orchestration",
            "metadata": {"name": "greeting"},
            "spec": {
                "parameters": [
                    {"name": "whom", "required": True},
                    {"name": "tone", "enum": ["kind", "stern"]},
                ],
                "steps": [step("say", "say")],
            },
        },
        run("broken", step("first", "say"), step("bad", "break", "first")),
    )
    process.until(lambda: process.phase("broken") == "Failed")
    yield process
    process.end()


@pytest.fixture(scope="module")
def http(laptop):
    return LaptopClient(laptop)


def test_a_run_names_its_retries_and_a_retry_its_origin(http):
    """C4: both ways, also in the stream of the run."""
    with http.events(f"{R}/broken/watch") as events:
        assert next(events)[2]["retriedBy"] == []
        made = http.request("POST", f"{R}/broken/retry", {}).json["run"]["name"]
        assert next(data for _, _, data in events if data["retriedBy"])["retriedBy"] == [made]
    assert http.get(f"{R}/broken")["retriedBy"] == [made]
    assert http.get(f"{R}/{made}")["retryOf"] == "broken"


def test_a_run_is_resubmitted_with_other_parameters(http):
    """C4: resubmit takes a complete set of parameters and validates it like a new run."""
    order = {"orchestration": "greeting", "name": "hello", "parameters": {"whom": "you"}}
    assert http.request("POST", R, order).status == 201
    wrong = http.request("POST", f"{R}/hello/resubmit", {"parameters": {"tone": "loud"}})
    assert wrong.status == 422
    assert wrong.json["fields"] == {
        "parameters.whom": "Enter a value.",
        "parameters.tone": 'Use one of "kind", "stern".',
    }
    made = http.request("POST", f"{R}/hello/resubmit", {"parameters": {"whom": "me", "tone": "kind"}})
    assert made.status == 201, made.body
    assert http.get(f"{R}/{made.json['run']['name']}")["parameters"] == {"whom": "me", "tone": "kind"}
    same = http.request("POST", f"{R}/hello/resubmit", {})
    assert http.get(f"{R}/{same.json['run']['name']}")["parameters"] == {"whom": "you"}


def test_problems_are_reported_by_field(http):
    """C8: a form can show each problem at its field."""
    answer = http.request("POST", R, {"orchestration": "greeting", "parameters": {"tune": "x"}})
    assert answer.json["fields"] == {
        "parameters.whom": "Enter a value.",
        "parameters.tune": "The orchestration does not declare this parameter.",
    }
    taken = http.request(
        "POST", R, {"orchestration": "greeting", "parameters": {"whom": "x"}, "name": "broken"}
    )
    assert taken.status == 409
    assert "exists" in taken.json["fields"]["name"]


def test_an_expired_link_opens_a_page_with_instructions(http, laptop):
    """C7: a browser gets the page, a program a problem; neither gets a session."""
    page = http.request("GET", "/runs/default/broken?token=old", token=None, Accept=BROWSER)
    assert (page.status, page.headers["content-type"]) == (401, "text/html; charset=utf-8")
    assert b'data-refused="token"' in page.body
    assert "set-cookie" not in page.headers
    program = http.request("GET", "/?token=old", token=None)
    assert program.status == 401
    assert program.json["fix"] == f"jangar status --data-dir '{laptop.data}' prints the current link"
    opened = http.request("GET", f"/?token={http.token}", token=None)
    session = opened.headers["set-cookie"].partition(";")[0]
    known = http.request("GET", "/kinds?token=old", token=None, Accept=BROWSER, Cookie=session)
    assert (known.status, known.headers["location"]) == (303, "/kinds")


def test_commands_name_the_data_directory(http, laptop):
    """B9: if it is not the default one; also before sign-in."""
    command = f"jangar --data-dir '{laptop.data}'"
    assert http.get("/v1/me")["commandPrefix"] == command
    page = http.request("GET", "/", token=None, Accept=BROWSER).body.decode()
    assert f'data-command="{command.replace(chr(39), "&#x27;")}"' in page


def test_the_page_knows_how_long_history_is_kept(http):
    """C3: rows without limit, log tails for a week, unless the settings differ."""
    assert http.get("/v1/me")["history"] == {"recordSeconds": None, "logSeconds": 604800}


def test_a_deleted_run_stays_readable_in_history(http, laptop):
    """C3: as the dialog says: the row and the log tail."""
    laptop.apply(run("gone-soon", step("say", "say")))
    laptop.until(lambda: laptop.phase("gone-soon") == "Succeeded")
    assert http.get(f"{R}/gone-soon")["retention"]["history"] == "On"
    assert http.request("DELETE", f"{R}/gone-soon").status == 200
    laptop.until(lambda: http.get(f"{R}/gone-soon")["live"] is False)
    past = http.get(f"{R}/gone-soon")
    assert (past["phase"], past["expiresAt"]) == ("Succeeded", None)
    log = http.get(f"{R}/gone-soon/logs?step=say")
    assert json.dumps(log["lines"]) == '["hello"]'
