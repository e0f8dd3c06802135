"""AgentRuns in history: alone and as steps, on SQLite, executed by the real runner."""

import pytest

from contract.agents.fresh_namespace import fresh_namespace
from contract.engine.engine_namespace import IMAGE
from contract.store.history_bed import BedWithHistory
from contract.store.history_rows import run as await_async
from jangar.store.database_history import DatabaseHistory
from jangar.store.rows import Query
from jangar.store.urls import parse_url
from support.runner_availability import why_no_runner

ANSWER = 'echo "the log of $TASK"; printf \'{"answer": "%s"}\' "$TASK" > "$JANGAR_RESULT_PATH"'


@pytest.fixture(scope="module")
def bed(tmp_path_factory):
    if (obstacle := why_no_runner()) is not None:
        pytest.skip(obstacle)
    made = BedWithHistory()
    made.url = f"sqlite:///{tmp_path_factory.mktemp('history') / 'history.sqlite'}"
    made.start()
    yield made
    made.stop()


@pytest.fixture
def namespace(bed):
    env = {"TASK": "{{ implementation.text }}"}
    provider = {"binary": "sh", "envTemplate": env, "workload": {"image": IMAGE}}
    with fresh_namespace(bed) as made:
        for name, script in (("teller", ANSWER), ("failing", "echo bad; exit 3")):
            made.api.create("AgentProvider", name, provider | {"argsTemplate": ["-c", script]})
            made.api.create("Agent", name, {"providerRef": {"name": name}})
        yield made


def start(namespace, name, agent, **spec):
    given = {
        "agentRef": {"name": agent},
        "implementation": {"inline": {"text": f"task of {name}"}},
        "runtime": {"type": "job"},
        "ttlSecondsAfterFinished": 0,
        **spec,
    }
    return namespace.api.create("AgentRun", name, given)["metadata"]["uid"]


async def _stored(url, namespace):
    history = DatabaseHistory(parse_url(url), read_only=True)
    rows = await history.page(Query(namespace=namespace, roots_only=False))
    stored_rows = {
        row.name: (row, await history.steps(row.uid), await history.log_tail(row.uid)) for row in rows
    }
    await history.close()
    return stored_rows


def stored(namespace):
    return await_async(_stored(namespace.bed.url, namespace.api.namespace))


@pytest.mark.rule("GC-6")
def test_an_agent_run_is_stored_before_it_is_deleted(namespace):
    """Retention deletes it at once; its phase, outputs, exit code and log tail are in history."""
    uids = {name: start(namespace, name, name) for name in ("teller", "failing")}
    namespace.await_(
        lambda: not namespace.api.all("AgentRun"), "that both are deleted once they are stored", seconds=60
    )
    rows = stored(namespace)
    row, _, tail = rows["teller"]
    assert (row.uid, row.kind, row.phase, row.exit_code) == (uids["teller"], "AgentRun", "Succeeded", 0)
    assert row.outputs == {"answer": "task of teller"}
    assert (row.definition, row.root_uid, row.owner_uid) == ("teller", row.uid, None)
    assert "the log of task of teller" in tail
    failed, _, words = rows["failing"]
    assert (failed.uid, failed.phase, failed.exit_code) == (uids["failing"], "Failed", 3)
    assert "bad" in words


@pytest.mark.rule("GC-6")
def test_the_logs_of_all_steps_of_an_agent_run_are_stored(namespace):
    """Including steps whose Jobs were released long before the run."""
    steps = [
        {"name": item, "implementation": {"inline": {"text": f"step {item}"}}} for item in ("plan", "code")
    ]
    start(namespace, "workflow", "teller", runtime={"type": "workflow"}, workflow={"steps": steps})
    namespace.await_(
        lambda: not namespace.api.all("AgentRun"), "that it is deleted once it is stored", seconds=60
    )
    _, _, tail = stored(namespace)["workflow"]
    reported = [line for line in tail.splitlines() if line.startswith(("==> ", "the log of"))]
    assert reported == [
        "==> step plan, attempt 1 <==",
        "the log of step plan",
        "==> step code, attempt 1 <==",
        "the log of step code",
    ]


@pytest.mark.rule("GC-4", "GC-5")
def test_planned_deletions_are_reported_and_actual_ones_counted(namespace):
    """In the status of the run with the deciding setting, and as metrics; the deletion happens on time."""
    start(namespace, "kept", "teller", ttlSecondsAfterFinished=3600)
    namespace.await_(
        lambda: (
            (status := namespace.api.get("AgentRun", "kept").get("status") or {}).get("retention") and status
        ),
        "it",
    )
    reported = namespace.api.get("AgentRun", "kept")["status"]["retention"]
    assert (reported["runRetentionSeconds"], reported["runSource"], reported["history"]) == (
        3600,
        "spec.ttlSecondsAfterFinished",
        "On",
    )
    assert (reported["jobTtlSeconds"], reported["jobSource"]) == (600, "default")
    assert reported["runExpiresAt"] > reported["jobExpiresAt"]
    before = _counted(namespace, "jangar_retention_deleted_total")
    namespace.api.merge("AgentRun", "kept", {"spec": {"ttlSecondsAfterFinished": 0}})
    namespace.await_(
        lambda: not namespace.api.all("AgentRun"), "that it is deleted when it is due", seconds=60
    )
    namespace.await_(
        lambda: _counted(namespace, "jangar_retention_deleted_total") > before, "that it is counted"
    )
    namespace.await_(
        lambda: _counted(namespace, "jangar_history_pending_rows") == 0, "that nothing waits to be stored"
    )


def _counted(namespace, name):
    """The sum over all labels."""
    lines = [line for line in namespace.bed.metrics().splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


@pytest.mark.rule("GC-6")
def test_an_agent_run_of_a_step_is_stored_with_its_run(namespace):
    """The run waits for it; each refers to the other."""
    step = {
        "name": "ask",
        "kind": "AgentRun",
        "agentRef": {"name": "teller"},
        "implementation": {"inline": {"text": "say hello"}},
        "outputs": [{"name": "answer"}],
    }
    namespace.api.create("Orchestration", "o", {"steps": [step]})
    namespace.api.create(
        "OrchestrationRun", "r", {"orchestrationRef": {"name": "o"}, "ttlSecondsAfterFinished": 0}
    )
    namespace.await_(
        lambda: not namespace.api.all("OrchestrationRun") and not namespace.api.all("AgentRun"),
        "that run and child go once they are stored",
        seconds=60,
    )
    rows = stored(namespace)
    run, steps, _ = rows.pop("r")
    ((child, _, tail),) = rows.values()
    assert (run.phase, child.phase, child.kind) == ("Succeeded", "Succeeded", "AgentRun")
    assert (child.root_uid, child.owner_uid, child.step, child.attempt) == (run.uid, run.uid, "ask", 1)
    assert [(item.name, item.child_uid, item.outputs) for item in steps] == [
        ("ask", child.uid, {"answer": "say hello"})
    ]
    assert "the log of say hello" in tail


@pytest.mark.rule("GC-6", "GC-9")
def test_an_agent_run_that_is_cancelled_and_deleted_by_hand_is_stored(namespace):
    """However it is removed, its row stays."""
    provider = {"binary": "sh", "argsTemplate": ["-c", "sleep 100"], "workload": {"image": IMAGE}}
    namespace.api.create("AgentProvider", "slow", provider)
    namespace.api.create("Agent", "slow", {"providerRef": {"name": "slow"}})
    uid = start(namespace, "slow", "slow", ttlSecondsAfterFinished="never")
    namespace.await_(
        lambda: (namespace.api.get("AgentRun", "slow").get("status") or {}).get("phase") == "Running",
        "that it runs",
    )
    namespace.api.delete("AgentRun", "slow")
    namespace.await_(lambda: not namespace.api.all("AgentRun"), "that it is deleted", seconds=60)
    namespace.await_(lambda: "slow" in stored(namespace), "its row", seconds=30)
    row, _, _ = stored(namespace)["slow"]
    assert (row.uid, row.phase) == (uid, "Cancelled")
