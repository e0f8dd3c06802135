"""Everyday commands for runs: complete names, follow a retry, change a parameter, read inputs and outputs."""

import json
import re
import socket
import time

import pytest
import yaml

from e2e.laptop_process import LaptopProcess, tool

pytestmark = pytest.mark.xdist_group("laptop")

GROUP = "orchestration.proompteng.ai/v1alpha1"
ADDRESS = "http://127.0.0.1:{port}"


def orchestration(name, *steps, **spec):
    return {
        "apiVersion": GROUP,
        "kind": "Orchestration",
        "metadata": {"name": name},
        "spec": {"steps": list(steps), **spec},
    }


SAY = {
    "name": "say",
    "kind": "ToolRun",
    "toolRef": {"name": "says"},
    "with": {"text": "{{ parameters.text }}"},
}
INNER = orchestration("inner", SAY, parameters=[{"name": "text", "default": "hello"}])
CALL = {
    "name": "call",
    "kind": "SubOrchestration",
    "orchestrationRef": {"name": "inner"},
    "with": {"text": "{{ parameters.text }}"},
}
OUTER = orchestration("outer", CALL, parameters=[{"name": "text", "default": "hello"}])
SAYS = tool("says", 'echo "said $TEXT"; printf \'{"said":"%s"}\' "$TEXT" > "$JANGAR_RESULT_PATH"')
SAYS["spec"]["env"] = [{"name": "TEXT", "value": "{{ parameters.text }}"}]


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    made = LaptopProcess(tmp_path_factory.mktemp("home"))
    made.start()
    (made.home / "nested.yaml").write_text(yaml.safe_dump_all([INNER, OUTER, SAYS]))
    made.done("run", "nested.yaml", "--name", "first")
    yield made
    made.end()


def offered(laptop, *words):
    """Bash completions of the last word."""
    ran = laptop.jangar(
        _JANGAR_COMPLETE="complete_bash", COMP_WORDS=" ".join(("jangar", *words)), COMP_CWORD=str(len(words))
    )
    assert ran.stderr == ""
    return ran.stdout.split()


def test_a_file_with_a_nested_orchestration_runs_the_outer_one(laptop):
    """B11: without --orchestration."""
    assert laptop.run("first")["spec"]["orchestrationRef"] == {"name": "outer"}


def test_a_list_has_no_nested_runs_by_default(laptop):
    """B7: their names are generated."""
    assert "first-call-1-" not in laptop.done("list")
    assert re.search(r"^first-call-1-\S+ +Succeeded", laptop.done("list", "--children"), re.MULTILINE)
    (one,) = json.loads(laptop.done("list", "-o", "json", "--phase", "Succeeded"))["items"][:1]
    assert one["metadata"]["name"] == "first"


def test_inputs_and_outputs_are_shown_for_every_step(laptop):
    """B6: in describe, explain and history."""
    child = next(name for name in laptop.done("list", "--children", "-o", "name").split() if "call-1" in name)
    child = child.partition("/")[2]
    for words in (("describe", child), ("explain", child, "say"), ("history", child)):
        output = laptop.done(*words)
        assert re.search(r"^ +in   text=hello$", output, re.MULTILINE), output
        assert re.search(r"^ +out  said=hello$", output, re.MULTILINE), output
    document = json.loads(laptop.done("describe", child, "-o", "json"))
    assert document["steps"][0]["inputs"] == {"text": "hello"}
    assert document["steps"][0]["outputs"] == {"said": "hello"}
    name = laptop.done("describe", "first", "-o", "name")
    assert name == "orchestrationrun.orchestration.proompteng.ai/first\n"


def test_a_run_is_resubmitted_with_other_parameters_and_followed(laptop):
    """B11: also from a file; an undeclared parameter is rejected before anything starts."""
    (laptop.home / "text").write_text("from a file")
    output = laptop.done("resubmit", "first", "-p", "text=@text", "--name", "second", "--watch")
    assert output.startswith("second resubmits first\n")
    assert "second succeeded after" in output
    assert laptop.run("second")["spec"]["parameters"] == {"text": "from a file"}
    ran = laptop.jangar("resubmit", "first", "-p", "texd=x")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert 'did you mean "text"?' in ran.stderr
    assert laptop.jangar("resubmit", "first", "-p", "text=@nosuch").returncode == 2


def test_a_retry_is_followed_and_its_end_is_the_exit_code(laptop):
    """B11: --watch on retry."""
    broken = orchestration("broken", {"name": "a", "kind": "ToolRun", "toolRef": {"name": "fails"}})
    (laptop.home / "broken.yaml").write_text(yaml.safe_dump_all([broken, tool("fails", "exit 3")]))
    assert laptop.jangar("run", "broken.yaml", "--name", "broken").returncode == 1
    ran = laptop.jangar("retry", "broken", "--watch", "--name", "broken-again")
    assert ran.returncode == 1
    assert ran.stdout.startswith("broken-again retries broken\n")
    assert "broken-again failed after" in ran.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("explain", "fir"), ["first"]),
        (("explain", "first", ""), ["call"]),
        (("logs", "first", "call/"), ["call/say"]),
        (("retry", "first", "--from", "c"), ["call"]),
        (("get", "tool", "sa"), ["says"]),
        (("list", "-n", "def"), ["default"]),
    ],
)
def test_names_are_completed(laptop, words, expected):
    """B11: runs, steps, kinds, objects, namespaces. A slow machine may need a second try because completion has a
    deadline.
    """
    laptop.until(lambda: offered(laptop, *words) == expected)


def test_every_shell_gets_completions(laptop):
    """B11: each shell has its own protocol."""
    environment = {"_TYPER_COMPLETE_ARGS": "jangar explain fir"}
    laptop.until(lambda: '"first"' in laptop.done(_JANGAR_COMPLETE="complete_zsh", **environment))
    fish = {"_TYPER_COMPLETE_FISH_ACTION": "get-args", **environment}
    laptop.until(lambda: laptop.done(_JANGAR_COMPLETE="complete_fish", **fish).split() == ["first"])


def test_completion_prints_nothing_if_the_api_does_not_respond(laptop, tmp_path):
    """B11: within its deadline; a message would appear in the middle of the command line."""
    assert offered(laptop, "explain", "--data-dir", str(tmp_path), "fir") == []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        config = {
            "clusters": [{"name": "c", "cluster": {"server": ADDRESS.format(port=silent.getsockname()[1])}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "users": [{"name": "u", "user": {}}],
            "current-context": "c",
        }
        (tmp_path / "config").write_text(yaml.safe_dump(config))
        assert offered(laptop, "explain", "--kubeconfig", str(tmp_path / "config"), "fir") == []


@pytest.mark.rule("CAN-4")
def test_a_cancel_can_shorten_the_grace_period(laptop):
    """B11: work that ignores SIGTERM ends after --grace, in nested runs too, and not after its own 30 seconds."""
    ignores = {"name": "work", "kind": "ToolRun", "toolRef": {"name": "ignores"}, "dependsOn": []}
    call = {
        "name": "call",
        "kind": "SubOrchestration",
        "orchestrationRef": {"name": "stubborn-inner"},
        "dependsOn": [],
    }
    laptop.apply(
        tool("ignores", "trap '' TERM; echo ready; while :; do sleep 0.1; done"),
        orchestration("stubborn-inner", ignores),
        orchestration("stubborn", ignores, call),
        {
            "apiVersion": GROUP,
            "kind": "OrchestrationRun",
            "metadata": {"name": "stubborn"},
            "spec": {"orchestrationRef": {"name": "stubborn"}},
        },
    )
    laptop.until(lambda: laptop.jangar("logs", "stubborn").stdout.count("ready") == 2)
    began = time.monotonic()
    output = laptop.done("cancel", "stubborn", "--grace", "1", "--wait")
    assert (
        output == "shortened the grace period of 2 pods of stubborn to 1 s\nstubborn has ended: Cancelled\n"
    )
    assert time.monotonic() - began < 25
    assert laptop.jangar("cancel", "stubborn", "--grace", "0").returncode == 2
