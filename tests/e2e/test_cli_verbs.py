"""The commands against a real control plane: their output, effects and exit codes."""

import json
import re
import subprocess
import time

import pytest
import yaml

from e2e.laptop_process import JANGAR, LaptopProcess, run, step, tool

pytestmark = pytest.mark.xdist_group("laptop")


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    made = LaptopProcess(tmp_path_factory.mktemp("home"))
    made.start()
    made.apply(
        tool("passes", "true"),
        tool("fails", "exit 3"),
        tool("sleeps", "exec sleep 100"),
        run("broken", step("a", "passes"), step("b", "fails", "a"), step("c", "passes", "b"), team="red"),
    )
    made.until(lambda: made.phase("broken") == "Failed")
    yield made
    made.end()


def test_apply_prints_created_configured_or_unchanged(laptop):
    """A second apply of the same file changes nothing and reports that."""
    one = yaml.safe_dump(tool("one", "true"))
    assert laptop.done("apply", "-f", "-", stdin=one) == "tool.tools.proompteng.ai/one created\n"
    assert laptop.done("apply", "-f", "-", stdin=one) == "tool.tools.proompteng.ai/one unchanged\n"
    other = yaml.safe_dump(tool("one", "false"))
    assert laptop.done("apply", "-f", "-", stdin=other) == "tool.tools.proompteng.ai/one configured\n"
    assert laptop.done("delete", "-f", "-", stdin=other) == "tool.tools.proompteng.ai/one deleted\n"


def test_apply_sends_nothing_if_one_object_has_a_problem(laptop):
    """Problems are printed as by lint, with their line."""
    bad = yaml.safe_dump_all([tool("good", "true"), run("cyclic", step("a", "x", "b"), step("b", "x", "a"))])
    ran = laptop.jangar("apply", "-f", "-", stdin=bad)
    assert ran.returncode == 1
    assert "<stdin>:" in ran.stderr
    assert "a -> b -> a" in ran.stderr
    assert laptop.jangar("get", "tool", "good").returncode == 4


def test_apply_accepts_kubernetes_objects(laptop):
    """Their kinds are discovered from the API."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    assert laptop.done("apply", "-f", "-", stdin=yaml.safe_dump(config)) == "configmap/c created\n"
    assert laptop.done("get", "cm", "c", "-o", "jsonpath={.data.a}") == "b\n"
    assert laptop.done("delete", "configmap", "c") == "configmap/c deleted\n"


def test_a_run_cannot_be_changed_and_the_message_says_what_to_do(laptop):
    """Immutable fields are named."""
    changed = run("broken", step("a", "passes"), team="red")
    ran = laptop.jangar("apply", "-f", "-", stdin=yaml.safe_dump(changed))
    assert ran.returncode == 1
    assert "delete the object first, or use another name" in ran.stderr


def test_get_has_every_output_format(laptop):
    """Table, wide, JSON, YAML, name and a path."""
    assert re.search(r"^broken +Failed +3/3 ", laptop.done("get", "runs"), re.MULTILINE)
    assert "step b failed" in laptop.done("get", "orun", "broken", "-o", "wide")
    assert json.loads(laptop.done("get", "runs", "-o", "json"))["kind"] == "List"
    assert yaml.safe_load(laptop.done("get", "run", "broken", "-o", "yaml"))["kind"] == "OrchestrationRun"
    name = "orchestrationrun.orchestration.proompteng.ai/broken\n"
    assert name in laptop.done("get", "runs", "-o", "name")
    assert laptop.done("get", "run", "broken", "-o", "jsonpath={.status.phase}") == "Failed\n"
    assert laptop.jangar("get", "runs", "-o", "xml").returncode == 2


def test_list_filters_by_phase_label_and_age(laptop):
    """Objects that the filter excludes are not shown."""
    name = "orchestrationrun.orchestration.proompteng.ai/broken\n"
    assert name in laptop.done("list", "--phase", "failed", "-l", "team=red", "--since", "1h", "-o", "name")
    assert name not in laptop.done("list", "--phase", "Running", "-o", "name")
    assert name not in laptop.done("list", "-l", "team=blue", "-o", "name")
    assert name not in laptop.done("list", "--since", "0s", "-o", "name")
    assert laptop.jangar("list", "--phase", "odd").returncode == 2
    assert laptop.jangar("list", "--since", "soon").returncode == 2


def test_list_follows_runs_as_they_change(laptop):
    """One line per change, plain text."""
    watching = subprocess.Popen(
        [JANGAR, "list", "--watch", "-l", "followed=yes"],
        env=laptop.environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout.readline().startswith("NAME")
        laptop.apply(run("followed", step("a", "passes"), followed="yes"))
        lines = [watching.stdout.readline()]
        deadline = time.monotonic() + 30
        while "Succeeded" not in lines[-1]:
            assert time.monotonic() < deadline
            lines.append(watching.stdout.readline())
        assert all(line.startswith("followed") for line in lines)
        assert "\x1b" not in "".join(lines)
    finally:
        watching.kill()
        watching.communicate()


@pytest.mark.rule("RUN-4")
def test_explain_gives_the_reason_by_the_rules(laptop):
    """For a run all steps that did not succeed, for a step only that one."""
    output = laptop.done("explain", "broken")
    assert "b  Failed (NonZeroExit" in output
    assert "c  Skipped: it depends on b, which did not succeed" in output
    assert json.loads(laptop.done("explain", "broken", "c", "-o", "json"))["steps"][0]["reason"] == (
        "DependencyFailed"
    )
    assert laptop.jangar("explain", "broken", "d").returncode == 4
    assert laptop.jangar("explain", "nosuch").returncode == 4


def test_describe_shows_steps_conditions_and_events(laptop):
    """One page about a run."""
    output = laptop.done("describe", "broken")
    assert re.search(r"^Phase: +Failed \(StepFailed\)$", output, re.MULTILINE)
    assert re.search(r"^c +Skipped +- +- +skipped: it depends on b", output, re.MULTILINE)
    assert re.search(r"^Failed +True +StepFailed", output, re.MULTILINE)
    assert re.search(r"Warning +StepFailed", output)


@pytest.mark.rule("DAG-16")
def test_retry_keeps_succeeded_steps_and_resubmit_keeps_nothing(laptop):
    """Both make a new run."""
    laptop.done("retry", "broken", "--name", "again")
    laptop.until(lambda: laptop.phase("again") == "Failed")
    steps = {
        step_status["name"]: step_status for step_status in laptop.run("again")["status"]["stepStatuses"]
    }
    assert (steps["a"]["phase"], steps["a"]["reason"]) == ("Succeeded", "Reused")
    assert laptop.run("again")["spec"]["retryOf"] == {
        "name": "broken",
        "uid": laptop.run("broken")["metadata"]["uid"],
    }
    assert laptop.run("again")["metadata"]["labels"] == {"team": "red"}
    assert "did you mean" not in laptop.jangar("retry", "broken", "--from", "zzz").stderr
    assert laptop.jangar("retry", "broken", "--from", "zzz").returncode == 4
    name = laptop.done("resubmit", "broken").split()[0]
    laptop.until(lambda: laptop.phase(name) == "Failed")
    steps = {step_status["name"]: step_status for step_status in laptop.run(name)["status"]["stepStatuses"]}
    assert steps["a"]["reason"] != "Reused"


@pytest.mark.rule("DAG-15")
def test_suspend_resume_and_cancel_take_effect(laptop):
    """A suspended run starts nothing; a cancelled one has ended when cancel --wait returns."""
    laptop.apply(run("held", step("a", "sleeps"), step("b", "passes", "a")))
    laptop.until(lambda: laptop.phase("held") == "Running")
    assert laptop.jangar("retry", "held").returncode == 1
    assert "jangar resume held" in laptop.done("suspend", "held")
    assert laptop.run("held")["spec"]["suspend"] is True
    assert laptop.done("suspend", "held") == "held is already suspended\n"
    assert laptop.done("resume", "held") == "held is resumed\n"
    assert laptop.jangar("cancel", "held", "--wait", "--timeout", "0").returncode == 124
    laptop.until(lambda: laptop.phase("held") == "Cancelled")
    assert laptop.done("cancel", "held", "--wait") == "held has already ended: Cancelled; nothing to cancel\n"
    assert laptop.jangar("suspend", "held").returncode == 1


@pytest.mark.rule("GC-4")
def test_retention_shows_the_time_and_the_deciding_value(laptop):
    """Also for one run."""
    assert re.search(
        r"^broken +Failed +20\S+ \(in 29d23h\) +default ", laptop.done("retention", "broken"), re.MULTILINE
    )


@pytest.mark.rule("GC-4")
def test_retention_names_the_root_run_of_a_nested_run(laptop):
    """By name, with its deletion time."""
    inner = run("inner", step("a", "passes")) | {"kind": "Orchestration"}
    inner["spec"] = inner["spec"]["orchestration"]
    nested = {
        "name": "sub",
        "kind": "SubOrchestration",
        "orchestrationRef": {"name": "inner"},
        "dependsOn": [],
    }
    laptop.apply(inner, run("outer", nested))
    laptop.until(lambda: laptop.phase("outer") == "Succeeded")
    [child] = [
        item["metadata"]["name"]
        for item in json.loads(laptop.done("get", "runs", "-o", "json"))["items"]
        if item["metadata"].get("ownerReferences")
    ]
    output = r" +Succeeded +with its root run outer: 20\S+ \(in 29d23h\) +rootRun "
    assert re.search(rf"^{child}{output}", laptop.done("retention", child), re.MULTILINE)
    assert re.search(rf"^{child}{output}", laptop.done("retention"), re.MULTILINE)


def test_delete_of_a_live_run_cancels_it_first(laptop):
    """It is gone when the command returns."""
    laptop.apply(run("doomed", step("a", "sleeps")))
    laptop.until(lambda: laptop.phase("doomed") == "Running")
    assert (
        laptop.done("delete", "run", "doomed")
        == "orchestrationrun.orchestration.proompteng.ai/doomed deleted\n"
    )
    assert laptop.jangar("get", "run", "doomed").returncode == 4


def test_without_an_api_the_error_says_how_to_start_one(laptop, tmp_path):
    """Exit code 5, with jangar up and --context."""
    ran = laptop.jangar("list", HOME=str(tmp_path))
    assert ran.returncode == 5
    assert "jangar up" in ran.stderr
    assert "--context" in ran.stderr
    ran = laptop.jangar("list", "--data-dir", tmp_path / "none")
    assert (ran.returncode, "is not up" in ran.stderr) == (5, True)
    gone = tmp_path / "gone"
    gone.write_text(
        (laptop.data / "kubeconfig").read_text().replace("https://127.0.0.1:", "https://127.0.0.1:1")
    )
    ran = laptop.jangar("list", "--kubeconfig", gone)
    assert ran.returncode == 5
    assert "cannot be reached" in ran.stderr


def test_kubectl_runs_it_as_a_plugin(laptop):
    """The same command with the name that kubectl expects."""
    plugin = f"{JANGAR.rpartition('/')[0]}/kubectl-jangar"
    ran = subprocess.run(
        [plugin, "explain", "broken"], env=laptop.environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_completion_scripts_work(laptop):
    """A shell that requests completions gets the commands."""
    for shell in ("bash", "zsh", "fish"):
        assert "_JANGAR_COMPLETE" in laptop.done("completion", shell)
    ran = laptop.jangar(COMP_WORDS="jangar resu", COMP_CWORD="1", _JANGAR_COMPLETE="complete_bash")
    assert ran.stdout.split() == ["resume", "resubmit"]


@pytest.mark.rule("GC-6", "GC-9")
def test_history_shows_a_deleted_run(laptop):
    """With its steps and log tail: a deletion waits until they are stored."""
    laptop.apply(tool("talks", "echo last words"), run("past", step("a", "talks"), step("b", "fails", "a")))
    laptop.until(lambda: laptop.phase("past") == "Failed")
    laptop.done("delete", "run", "past")
    assert laptop.jangar("get", "run", "past").returncode == 4
    assert re.search(r"^past +OrchestrationRun +Failed ", laptop.done("history"), re.MULTILINE)
    shown = laptop.done("history", "past")
    assert "last words" in shown
    assert "NonZeroExit" in shown


@pytest.mark.rule("GC-7")
def test_release_finalizers_removes_only_ours(laptop):
    """In every namespace; other finalizers stay."""
    ours, others = "jangar.proompteng.ai/outcome", "example.com/theirs"
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "held", "finalizers": [others, ours]},
        "spec": {
            "suspend": True,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{"name": "c", "image": "i", "command": ["true"]}],
                }
            },
        },
    }
    laptop.done("apply", "-f", "-", stdin=yaml.safe_dump(job))
    assert "job default/held would be released" in laptop.done("release-finalizers", "-A", "--dry-run")
    assert ours in laptop.done("get", "job", "held", "-o", "jsonpath={.metadata.finalizers}")
    assert "job default/held released" in laptop.done("release-finalizers", "-A")
    assert laptop.done("get", "job", "held", "-o", "jsonpath={.metadata.finalizers}") == f'["{others}"]\n'
    assert "job default/held" not in laptop.done("release-finalizers", "-A", "--dry-run")
    held = {**job, "metadata": {"name": "held", "finalizers": []}}
    laptop.done("apply", "-f", "-", stdin=yaml.safe_dump(held))
    laptop.done("delete", "job", "held")
