"""AgentRuns in history: alone and as steps, on SQLite, executed by the real runner."""

import pytest

from contract.agents.fresh_place import fresh_place
from contract.engine.engine_place import IMAGE
from contract.store.history_bed import BedWithHistory
from contract.store.history_rows import run as await_async
from jangar.store.database_history import DatabaseHistory
from jangar.store.rows import Query
from jangar.store.urls import parse_url
from support.runner_at_hand import why_no_runner

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
def place(bed):
    env = {"TASK": "{{ implementation.text }}"}
    provider = {"binary": "sh", "envTemplate": env, "workload": {"image": IMAGE}}
    with fresh_place(bed) as made:
        for name, script in (("teller", ANSWER), ("failing", "echo bad; exit 3")):
            made.api.create("AgentProvider", name, provider | {"argsTemplate": ["-c", script]})
            made.api.create("Agent", name, {"providerRef": {"name": name}})
        yield made


def start(place, name, agent, **spec):
    given = {
        "agentRef": {"name": agent},
        "implementation": {"inline": {"text": f"task of {name}"}},
        "runtime": {"type": "job"},
        "ttlSecondsAfterFinished": 0,
        **spec,
    }
    return place.api.create("AgentRun", name, given)["metadata"]["uid"]


async def _stored(url, namespace):
    history = DatabaseHistory(parse_url(url), read_only=True)
    rows = await history.page(Query(namespace=namespace, roots_only=False))
    found = {row.name: (row, await history.steps(row.uid), await history.log_tail(row.uid)) for row in rows}
    await history.close()
    return found


def stored(place):
    return await_async(_stored(place.bed.url, place.api.namespace))


@pytest.mark.rule("GC-6")
def test_an_agent_run_is_stored_before_it_is_deleted(place):
    """Retention deletes it at once; its phase, outputs, exit code and log tail are in history."""
    uids = {name: start(place, name, name) for name in ("teller", "failing")}
    place.await_(lambda: not place.api.all("AgentRun"), "that both go once they are stored", seconds=60)
    rows = stored(place)
    row, _, tail = rows["teller"]
    assert (row.uid, row.kind, row.phase, row.exit_code) == (uids["teller"], "AgentRun", "Succeeded", 0)
    assert row.outputs == {"answer": "task of teller"}
    assert (row.definition, row.root_uid, row.owner_uid) == ("teller", row.uid, None)
    assert "the log of task of teller" in tail
    failed, _, words = rows["failing"]
    assert (failed.uid, failed.phase, failed.exit_code) == (uids["failing"], "Failed", 3)
    assert "bad" in words


@pytest.mark.rule("GC-6")
def test_the_logs_of_all_steps_of_an_agent_run_are_stored(place):
    """Including steps whose Jobs were released long before the run."""
    steps = [
        {"name": item, "implementation": {"inline": {"text": f"step {item}"}}} for item in ("plan", "code")
    ]
    start(place, "workflow", "teller", runtime={"type": "workflow"}, workflow={"steps": steps})
    place.await_(lambda: not place.api.all("AgentRun"), "that it goes once it is stored", seconds=60)
    _, _, tail = stored(place)["workflow"]
    reported = [line for line in tail.splitlines() if line.startswith(("==> ", "the log of"))]
    assert reported == [
        "==> step plan, attempt 1 <==",
        "the log of step plan",
        "==> step code, attempt 1 <==",
        "the log of step code",
    ]


@pytest.mark.rule("GC-4", "GC-5")
def test_planned_deletions_are_reported_and_actual_ones_counted(place):
    """In the status of the run with the deciding setting, and as metrics; the deletion happens on time."""
    start(place, "kept", "teller", ttlSecondsAfterFinished=3600)
    place.await_(
        lambda: (status := place.api.get("AgentRun", "kept").get("status") or {}).get("retention") and status,
        "it",
    )
    reported = place.api.get("AgentRun", "kept")["status"]["retention"]
    assert (reported["runRetentionSeconds"], reported["runSource"], reported["history"]) == (
        3600,
        "spec.ttlSecondsAfterFinished",
        "On",
    )
    assert (reported["jobTtlSeconds"], reported["jobSource"]) == (600, "default")
    assert reported["runExpiresAt"] > reported["jobExpiresAt"]
    before = _counted(place, "jangar_retention_deleted_total")
    place.api.merge("AgentRun", "kept", {"spec": {"ttlSecondsAfterFinished": 0}})
    place.await_(lambda: not place.api.all("AgentRun"), "that it goes when it is due", seconds=60)
    place.await_(lambda: _counted(place, "jangar_retention_deleted_total") > before, "that it is counted")
    place.await_(
        lambda: _counted(place, "jangar_history_pending_rows") == 0, "that nothing waits to be stored"
    )


def _counted(place, name):
    """The sum over all labels."""
    lines = [line for line in place.bed.metrics().splitlines() if line.startswith(name)]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


@pytest.mark.rule("GC-6")
def test_an_agent_run_of_a_step_is_stored_with_its_run(place):
    """The run waits for it; each refers to the other."""
    step = {
        "name": "ask",
        "kind": "AgentRun",
        "agentRef": {"name": "teller"},
        "implementation": {"inline": {"text": "say hello"}},
        "outputs": [{"name": "answer"}],
    }
    place.api.create("Orchestration", "o", {"steps": [step]})
    place.api.create(
        "OrchestrationRun", "r", {"orchestrationRef": {"name": "o"}, "ttlSecondsAfterFinished": 0}
    )
    place.await_(
        lambda: not place.api.all("OrchestrationRun") and not place.api.all("AgentRun"),
        "that run and child go once they are stored",
        seconds=60,
    )
    rows = stored(place)
    run, steps, _ = rows.pop("r")
    ((child, _, tail),) = rows.values()
    assert (run.phase, child.phase, child.kind) == ("Succeeded", "Succeeded", "AgentRun")
    assert (child.root_uid, child.owner_uid, child.step, child.attempt) == (run.uid, run.uid, "ask", 1)
    assert [(item.name, item.child_uid, item.outputs) for item in steps] == [
        ("ask", child.uid, {"answer": "say hello"})
    ]
    assert "the log of say hello" in tail


@pytest.mark.rule("GC-6", "GC-9")
def test_an_agent_run_that_is_cancelled_and_deleted_by_hand_is_stored(place):
    """However it is removed, its row stays."""
    provider = {"binary": "sh", "argsTemplate": ["-c", "sleep 100"], "workload": {"image": IMAGE}}
    place.api.create("AgentProvider", "slow", provider)
    place.api.create("Agent", "slow", {"providerRef": {"name": "slow"}})
    uid = start(place, "slow", "slow", ttlSecondsAfterFinished="never")
    place.await_(
        lambda: (place.api.get("AgentRun", "slow").get("status") or {}).get("phase") == "Running",
        "that it runs",
    )
    place.api.delete("AgentRun", "slow")
    place.await_(lambda: not place.api.all("AgentRun"), "that it goes", seconds=60)
    place.await_(lambda: "slow" in stored(place), "its row", seconds=30)
    row, _, _ = stored(place)["slow"]
    assert (row.uid, row.phase) == (uid, "Cancelled")
