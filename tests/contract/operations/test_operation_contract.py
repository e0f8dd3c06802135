"""Each operation against the embedded API server, as the command line and the HTTP API call it."""

import asyncio
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from jangar.api.phases import Phase
from jangar.crdgen.crd import crds
from jangar.operations.agent_runs import (
    AGENT_RUNS,
    AGENTS,
    AgentRunSubmission,
    mark_agent_run,
    rerun_submission,
    submit_agent_run,
)
from jangar.operations.audit import AuditTrail, list_audit
from jangar.operations.caller import Caller, RunRef
from jangar.operations.cluster_status import ClusterStatus, list_controllers
from jangar.operations.idempotency import KeyStore
from jangar.operations.live_runs import LiveRuns
from jangar.operations.objects import (
    apply_object,
    create_object,
    delete_object,
    find_manifest_objects,
    get_objects,
    list_events,
    release_finalizers,
    resource_named,
)
from jangar.operations.past_runs import PastRuns, get_stored_run
from jangar.operations.refusals import ErrorKind, Refused
from jangar.operations.retention import get_retention, retention_rows
from jangar.operations.run_control import (
    cancel_run,
    delete_run,
    resume_run,
    shorten_grace_period,
    suspend_run,
)
from jangar.operations.run_list import RunFilter, list_run_page, list_runs
from jangar.operations.run_reading import ORCHESTRATIONS, RUNS, RunSource, explain_run_steps, get_run
from jangar.operations.step_logs import StepLogs, log_source
from jangar.operations.submit import (
    NameTaken,
    RunSubmission,
    manifest,
    resubmit_run,
    retry_run,
    submit_manifest,
    submit_run,
)
from jangar.operations.watching import changes, wait_until
from jangar.store.database_history import DatabaseHistory
from jangar.store.rows import Ended, RunRow
from jangar.store.urls import SqliteFile
from kubekit.cache.namespaces import Namespaces
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.asgi_transport import AsgiTransport
from kubekit.client.errors import AlreadyExists, NotFound
from picokube import ApiServerSettings, running

DEFINITION = {
    "steps": [{"name": "build", "kind": "ToolRun", "toolRef": {"name": "builder"}}],
    "parameters": [{"name": "branch"}],
}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SUBMISSION = RunSubmission(namespace="default", orchestration="nightly", parameters={"branch": "main"})
RETENTION = {"runExpiresAt": "2030-01-01T00:00:00Z", "runSource": "default"}


@asynccontextmanager
async def a_caller(directory):
    """A user of a server that has every kind and one Orchestration."""
    async with running(ApiServerSettings(data_dir=directory / "api", plain_http=True)) as server:
        transport = AsgiTransport(server.application, token=server.token)
        client = Client(transport, manager="test", request_timeout=30)
        caller = Caller(client=client, transport=transport, runs=RunSource(client), name="ann")
        for definition in crds():
            assert (await apply_object(caller, definition, force=True)).result == "created"
        await create_object(caller, ORCHESTRATIONS, "default", "nightly", DEFINITION)
        yield caller


def with_caller(directory, test):
    async def run():
        async with a_caller(directory) as caller:
            await test(caller)

    asyncio.run(run())


async def end(caller, run, phase="Failed", resource=RUNS, **status):
    """The run as its controller would end it."""
    meta = run["metadata"]
    body = {"metadata": {"uid": meta["uid"]}, "status": {"phase": phase, **status}}
    return await caller.client.patch(
        resource, meta["name"], "default", body, kind=PatchKind.MERGE, subresource="status"
    )


def named(obj):
    return RunRef(namespace="default", name=obj["metadata"]["name"])


async def refusal(awaitable):
    with pytest.raises(Refused) as refused:
        await awaitable
    return refused.value.kind


def test_runs_are_submitted_with_valid_parameters_and_the_name_of_their_creator(tmp_path):
    async def test(caller):
        created = await submit_run(caller, SUBMISSION)
        assert not created.is_repeat
        assert created.run["metadata"]["annotations"] == {"jangar.proompteng.ai/created-by": "ann"}
        assert (
            await refusal(submit_run(caller, replace(SUBMISSION, parameters={"other": "x"})))
            is ErrorKind.INVALID
        )
        assert await refusal(submit_run(caller, replace(SUBMISSION, orchestration="x"))) is ErrorKind.MISSING
        assert await refusal(submit_run(caller, replace(SUBMISSION, orchestration=None))) is ErrorKind.INVALID
        both = replace(SUBMISSION, name="a", key="k")
        assert await refusal(submit_run(caller, both)) is ErrorKind.INVALID
        run = manifest(replace(SUBMISSION, name="taken"))
        await submit_manifest(caller, run)
        with pytest.raises(NameTaken, match=r"run taken already exists \(Pending\)"):
            await submit_manifest(caller, run)

    with_caller(tmp_path, test)


@pytest.mark.parametrize("has_store", [False, True])
def test_a_key_creates_one_run(tmp_path, has_store):
    async def test(caller):
        history = DatabaseHistory(SqliteFile(tmp_path / "history.sqlite"))
        past = PastRuns(lambda: asyncio.sleep(0, history))
        if has_store:
            keys = KeyStore(keys=past.history, past=past.created_with, now=lambda: NOON)
            caller = replace(caller, keys=keys)
        first, second = [await submit_run(caller, replace(SUBMISSION, key="order-1")) for _ in range(2)]
        assert (first.is_repeat, second.is_repeat) == (False, True)
        assert first.run["metadata"]["uid"] == second.run["metadata"]["uid"]
        other = replace(SUBMISSION, key="order-1", parameters={"branch": "other"})
        assert await refusal(submit_run(caller, other)) is ErrorKind.INVALID
        await (past if has_store else history).close()

    with_caller(tmp_path, test)


def test_runs_are_listed_read_and_explained(tmp_path):
    async def test(caller):
        run = (await submit_run(caller, replace(SUBMISSION, name="nightly-1"))).run
        found, count = await list_runs(caller, RunFilter(), namespace="default")
        assert ([item["metadata"]["name"] for item in found], count) == (["nightly-1"], 1)
        failed = RunFilter(phases=frozenset({Phase.FAILED}))
        assert await list_runs(caller, failed, namespace="default") == ([], 1)
        read = await get_run(caller, named(run))
        assert [state.name for state in read.states] == ["build"]
        read, explanations = await explain_run_steps(caller, named(run), "build")
        assert (read.identity.name, [item.step for item in explanations]) == ("nightly-1", ["build"])
        assert await refusal(explain_run_steps(caller, named(run), "bild")) is ErrorKind.MISSING
        assert await list_events(caller, run) == []
        log = await StepLogs(caller).read(log_source(read, read.states[0], "build", None))
        assert log.missing.startswith("the step has not run")
        with pytest.raises(NotFound):
            await get_run(caller, RunRef(namespace="default", name="missing"))
        with pytest.raises(NotFound):
            await get_run(caller, RunRef(namespace="default", name="nightly-1", uid="of-an-earlier-run"))

    with_caller(tmp_path, test)


def test_runs_are_suspended_resumed_and_cancelled_once(tmp_path):
    async def test(caller):
        run = (await submit_run(caller, SUBMISSION)).run
        ref = named(run)
        for change in (suspend_run, resume_run, cancel_run):
            assert [(await change(caller, ref)).changed for _ in range(2)] == [True, False]
        replaced = replace(ref, uid="of-an-earlier-run")
        assert await refusal(cancel_run(caller, replaced)) is ErrorKind.MISSING
        ended = await end(caller, run, "Cancelled")
        assert await shorten_grace_period(caller, ended, grace=1, seconds=5) == 0
        assert not (await cancel_run(caller, ref)).changed
        assert await refusal(suspend_run(caller, ref)) is ErrorKind.CONFLICT
        assert await refusal(resume_run(caller, ref)) is ErrorKind.CONFLICT

    with_caller(tmp_path, test)


def test_a_grace_period_is_shortened_only_while_controllers_stop_the_run(tmp_path):
    async def test(caller):
        run = (await submit_run(caller, SUBMISSION)).run
        assert await refusal(shorten_grace_period(caller, run, grace=1, seconds=0.1)) is ErrorKind.TIMEOUT

    with_caller(tmp_path, test)


def test_ended_runs_are_retried_and_resubmitted(tmp_path):
    async def test(caller):
        run = (await submit_run(caller, SUBMISSION)).run
        ref = named(run)
        assert await refusal(retry_run(caller, ref)) is ErrorKind.CONFLICT
        await end(caller, run)
        retry = await retry_run(caller, ref)
        assert retry["spec"]["retryOf"] == {"name": ref.name, "uid": run["metadata"]["uid"]}
        again = await resubmit_run(caller, ref, overrides={"branch": "other"})
        assert again["spec"]["parameters"] == {"branch": "other"}
        assert await refusal(resubmit_run(caller, ref, parameters={"other": "x"})) is ErrorKind.INVALID

    with_caller(tmp_path, test)


def test_objects_are_applied_read_and_deleted(tmp_path):
    async def test(caller):
        tool = {
            "apiVersion": "tools.proompteng.ai/v1alpha1",
            "kind": "Tool",
            "metadata": {"name": "builder"},
            "spec": {"image": "app:1", "command": ["true"]},
        }
        results = [(await apply_object(caller, tool, force=False)).result for _ in range(2)]
        assert results == ["created", "unchanged"]
        tool["spec"]["command"] = ["false"]
        assert (await apply_object(caller, tool, force=False)).is_changed
        resource = await resource_named(caller, "tools")
        (found,) = await get_objects(caller, resource, "default", ["builder"])
        assert found["spec"]["command"] == ["false"]
        assert (await resource_named(caller, "cm")).kind == "ConfigMap"
        assert await refusal(resource_named(caller, "toolz")) is ErrorKind.MISSING
        await delete_object(caller, resource, found)
        assert [obj async for _, _, obj in find_manifest_objects(caller, [tool])] == [None]
        unknown = {"apiVersion": "x.example/v1", "kind": "X", "metadata": {"name": "x"}}
        assert await refusal(apply_object(caller, unknown, force=False)) is ErrorKind.MISSING
        with pytest.raises(AlreadyExists):
            await create_object(caller, ORCHESTRATIONS, "default", "nightly", DEFINITION)

    with_caller(tmp_path, test)


def test_runs_are_deleted_and_their_finalizers_released(tmp_path):
    async def test(caller):
        first, second = [(await submit_run(caller, SUBMISSION)).run for _ in range(2)]
        assert await delete_run(caller, named(first))
        name = second["metadata"]["name"]
        uid = second["metadata"]["uid"]
        patch = {
            "metadata": {"uid": uid, "finalizers": ["jangar.proompteng.ai/cleanup", "example.com/other"]}
        }
        await caller.client.patch(RUNS, name, "default", patch, kind=PatchKind.MERGE)
        shown = [item.is_released async for item in release_finalizers(caller, None, dry_run=True)]
        released = [item.is_released async for item in release_finalizers(caller, None, dry_run=False)]
        assert (shown, released) == ([True], [True])
        left = await caller.client.get(RUNS, name, "default")
        assert left["metadata"]["finalizers"] == ["example.com/other"]

    with_caller(tmp_path, test)


def test_changes_are_watched_until_a_condition_holds(tmp_path):
    async def test(caller):
        run = (await submit_run(caller, SUBMISSION)).run
        async with aclosing(changes(caller.client, RUNS, "default")) as events:
            kind, obj = await anext(events)
        assert (kind, obj["metadata"]["uid"]) == ("MODIFIED", run["metadata"]["uid"])
        waiting = asyncio.create_task(
            wait_until(
                caller.client,
                RUNS,
                run,
                lambda item: (item.get("status") or {}).get("phase") == "Failed",
                seconds=30,
                waiting_for="its end",
            )
        )
        await end(caller, run)
        assert (await waiting)["status"]["phase"] == "Failed"

    with_caller(tmp_path, test)


def test_retention_is_read_from_the_api_and_from_a_cache(tmp_path):
    async def test(caller):
        runs = [(await submit_run(caller, SUBMISSION)).run for _ in range(2)]
        await end(caller, runs[0], retention=RETENTION)
        found = await get_retention(caller, "default")
        names = [item["metadata"]["name"] for item in found.runs]
        assert names == [runs[0]["metadata"]["name"]]
        one = await get_retention(caller, "default", runs[1]["metadata"]["name"])
        assert one.root_of(one.runs[0]) == one.runs[0]
        live = LiveRuns(caller.client, Namespaces.every())
        watching = asyncio.create_task(live.run())
        await live.informer.synced()
        assert [row["name"] for row in retention_rows(live, None)] == names
        assert retention_rows(live, frozenset({"other"})) == []
        page = await list_run_page(live, None, RunFilter(), after=None, limit=1)
        assert (len(page.rows), page.next is not None, page.is_complete) == (1, True, True)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    with_caller(tmp_path, test)


def test_agent_runs_are_submitted_once_marked_and_rerun(tmp_path):
    async def test(caller):
        spec = {"implementation": {"inline": {"text": "write"}}, "runtime": {"type": "job"}}
        submission = AgentRunSubmission(namespace="default", agent="codex", spec=spec, key="k")
        assert await refusal(submit_agent_run(caller, submission)) is ErrorKind.MISSING
        await create_object(caller, AGENTS, "default", "codex", {"providerRef": {"name": "codex"}})
        first, second = [await submit_agent_run(caller, submission) for _ in range(2)]
        assert (first.is_repeat, second.is_repeat) == (False, True)
        marked = await mark_agent_run(caller, first.run, labels={"team": "red"}, annotations={})
        assert marked["metadata"]["labels"]["team"] == "red"
        with pytest.raises(Refused):
            rerun_submission(marked, 2)
        ended = await end(caller, marked, resource=AGENT_RUNS)
        rerun = await submit_agent_run(caller, rerun_submission(ended, 2, prompt="write more"))
        assert rerun.run["spec"]["implementation"]["inline"]["text"] == "write more"

    with_caller(tmp_path, test)


def test_a_cluster_without_controllers_serves_every_kind(tmp_path):
    async def test(caller):
        assert await list_controllers(caller.client, None) == []
        status = ClusterStatus(caller.client, caller.transport, None)
        assert await status.controllers(NOON) == []
        assert all(crd["served"] for crd in await status.crds())

    with_caller(tmp_path, test)


def test_changes_are_recorded_and_past_runs_read_from_the_history(tmp_path):
    async def test():
        history = DatabaseHistory(SqliteFile(tmp_path / "history.sqlite"))
        row = RunRow(
            uid="u-1",
            kind="OrchestrationRun",
            namespace="default",
            name="old",
            version=1,
            phase="Succeeded",
            created_at=NOON,
            finished_at=NOON + timedelta(minutes=1),
            updated_at=NOON + timedelta(minutes=1),
            root_uid="u-1",
        )
        await history.store([Ended(run=row)])
        for name in ("old", "u-1"):
            assert (await get_stored_run(history, "default", name)).row.uid == "u-1"
        assert await get_stored_run(history, "default", "new") is None
        trail = AuditTrail(lambda: asyncio.sleep(0, history), now=lambda: NOON, keep=None)
        change = {"actor": "ann", "action": "cancel-run", "kind": "orchestrationruns", "name": "n" * 300}
        for status in (200, 409):
            await trail.record(namespace="default", uid=None, status=status, detail=None, **change)
        rows, following = await list_audit(history, ["default"], None, 1)
        assert [(item.status, len(item.name)) for item in rows] == [(409, 253)]
        assert [item.status for item in (await list_audit(history, None, following, 10))[0]] == [200]
        assert trail.waiting == 0
        await history.close()

    asyncio.run(test())
