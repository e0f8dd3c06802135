"""The result and the errors of each client verb, on every server and transport."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from kubekit.client import errors
from kubekit.client.api_client import Client, PatchKind
from kubekit.client.builtin import CONFIG_MAPS, JOBS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from kubekit.client.resource import Resource


@asynccontextmanager
async def a_client(bed, namespace):
    async with bed.transport() as transport:
        client = Client(transport, manager="contract")
        await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        yield client


def a_map(namespace, name="a", *, labels=None, finalizers=None, **data):
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}, "finalizers": finalizers or []}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def a_job(namespace, name="a"):
    container = {"name": "main", "image": "busybox", "command": ["true"]}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"suspend": True, "template": template},
    }


def test_an_object_goes_through_its_lifecycle(bed, namespace):
    """Created, read, changed, deleted, gone."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            made = await client.create(CONFIG_MAPS, a_map(namespace, x="1"))
            assert made["metadata"]["uid"]
            assert (await client.get(CONFIG_MAPS, "a", namespace))["data"] == {"x": "1"}
            changed = await client.update(CONFIG_MAPS, {**made, "data": {"x": "2"}})
            assert int(changed["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
            assert await client.delete(CONFIG_MAPS, "a", namespace, uid=made["metadata"]["uid"]) is None
            with pytest.raises(errors.NotFound):
                await client.get(CONFIG_MAPS, "a", namespace)

    asyncio.run(scenario())


def test_a_name_can_be_created_once(bed, namespace):
    """The second create is AlreadyExists."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            await client.create(CONFIG_MAPS, a_map(namespace))
            with pytest.raises(errors.AlreadyExists) as caught:
                await client.create(CONFIG_MAPS, a_map(namespace))
            assert (caught.value.status, caught.value.details["name"]) == (409, "a")

    asyncio.run(scenario())


def test_an_update_from_an_old_version_is_a_conflict(bed, namespace):
    """No change is overwritten without being read."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            made = await client.create(CONFIG_MAPS, a_map(namespace, x="1"))
            await client.update(CONFIG_MAPS, {**made, "data": {"x": "2"}})
            with pytest.raises(errors.Conflict):
                await client.update(CONFIG_MAPS, {**made, "data": {"x": "3"}})
            assert (await client.get(CONFIG_MAPS, "a", namespace))["data"] == {"x": "2"}

    asyncio.run(scenario())


def test_a_delete_of_another_uid_or_version_is_a_conflict(bed, namespace):
    """A new object with the same name is not deleted in place of its predecessor."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            made = await client.create(CONFIG_MAPS, a_map(namespace, x="1"))
            uid, version = made["metadata"]["uid"], made["metadata"]["resourceVersion"]
            with pytest.raises(errors.Conflict):
                await client.delete(CONFIG_MAPS, "a", namespace, uid="11111111-1111-1111-1111-111111111111")
            await client.update(CONFIG_MAPS, {**made, "data": {"x": "2"}})
            with pytest.raises(errors.Conflict):
                await client.delete(CONFIG_MAPS, "a", namespace, uid=uid, resource_version=version)
            await client.delete(CONFIG_MAPS, "a", namespace, uid=uid)
            with pytest.raises(errors.NotFound):
                await client.delete(CONFIG_MAPS, "a", namespace, uid=uid)

    asyncio.run(scenario())


def test_a_delete_delayed_by_finalizers_returns_the_terminating_object(bed, namespace):
    """The caller learns that it still exists."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            made = await client.create(CONFIG_MAPS, a_map(namespace, finalizers=["test.dev/hold"]))
            ending = await client.delete(CONFIG_MAPS, "a", namespace, uid=made["metadata"]["uid"])
            assert ending["metadata"]["deletionTimestamp"]
            ending["metadata"]["finalizers"] = []
            await client.update(CONFIG_MAPS, ending)
            with pytest.raises(errors.NotFound):
                await client.get(CONFIG_MAPS, "a", namespace)

    asyncio.run(scenario())


@pytest.mark.parametrize("guard", ["uid", "resourceVersion"])
def test_a_merge_patch_applies_only_to_the_intended_object(bed, namespace, guard):
    """Its uid or version is a precondition."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            made = await client.create(CONFIG_MAPS, a_map(namespace, x="1"))
            patch = {"metadata": {guard: made["metadata"][guard]}, "data": {"y": "2"}}
            patched = await client.patch(CONFIG_MAPS, "a", namespace, patch, kind=PatchKind.MERGE)
            assert patched["data"] == {"x": "1", "y": "2"}
            wrong = {"uid": "11111111-1111-1111-1111-111111111111", "resourceVersion": "1"}[guard]
            patch = {"metadata": {guard: wrong}, "data": {"y": "3"}}
            with pytest.raises(errors.Conflict):
                await client.patch(CONFIG_MAPS, "a", namespace, patch, kind=PatchKind.MERGE)

    asyncio.run(scenario())


def test_a_json_patch_with_a_failing_test_changes_nothing(bed, namespace):
    """Invalid, and the object is unchanged."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            made = await client.create(CONFIG_MAPS, a_map(namespace, x="1"))
            change = {"op": "replace", "path": "/data/x", "value": "2"}
            test = {"op": "test", "path": "/metadata/uid", "value": "another"}
            with pytest.raises(errors.Invalid):
                await client.patch(CONFIG_MAPS, "a", namespace, [test, change], kind=PatchKind.JSON)
            test["value"] = made["metadata"]["uid"]
            patched = await client.patch(CONFIG_MAPS, "a", namespace, [test, change], kind=PatchKind.JSON)
            assert patched["data"] == {"x": "2"}

    asyncio.run(scenario())


def test_an_apply_owns_its_fields_and_respects_other_managers(bed, namespace):
    """A conflict unless forced."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            other = Client(client._transport, manager="other")
            wanted = {"metadata": {"name": "a", "namespace": namespace}, "data": {"x": "1"}}
            await client.apply(CONFIG_MAPS, wanted)
            wanted["data"] = {"x": "2"}
            with pytest.raises(errors.Conflict):
                await other.apply(CONFIG_MAPS, wanted)
            assert (await other.apply(CONFIG_MAPS, wanted, force=True))["data"] == {"x": "2"}

    asyncio.run(scenario())


def test_an_invalid_object_is_rejected_with_its_fields(bed, namespace):
    """The causes name the fields."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            bad = a_map(namespace)
            bad["data"] = {"not/a/key": "1"}
            with pytest.raises(errors.Invalid) as caught:
                await client.create(CONFIG_MAPS, bad)
            assert caught.value.details["causes"][0]["field"] == "data[not/a/key]"

    asyncio.run(scenario())


def test_status_is_written_separately(bed, namespace):
    """A status write changes no spec, a spec write no status."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            made = await client.create(JOBS, a_job(namespace))
            spec = {**made["spec"], "backoffLimit": 1}
            written = await client.update(
                JOBS, {**made, "spec": spec, "status": {"terminating": 1}}, subresource="status"
            )
            assert written["spec"] == made["spec"]
            assert written["status"]["terminating"] == 1
            again = await client.update(JOBS, {**written, "spec": spec, "status": {}})
            assert (again["spec"]["backoffLimit"], again["status"]["terminating"]) == (1, 1)

    asyncio.run(scenario())


def test_the_pages_of_a_list_are_one_snapshot(bed, namespace):
    """Changes between two pages appear in neither."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            for number in range(5):
                labels = {"parity": "even" if number % 2 == 0 else "odd"}
                await client.create(CONFIG_MAPS, a_map(namespace, f"map-{number}", labels=labels))
            names, versions = [], set()
            async for page in client.pages(CONFIG_MAPS, namespace, page_size=2, fields="metadata.name!=none"):
                names += [item["metadata"]["name"] for item in page.items]
                versions.add(page.resource_version)
                assert all(item["kind"] == "ConfigMap" for item in page.items)
                await client.create(CONFIG_MAPS, a_map(namespace, f"late-{len(names)}"))
            ours = [name for name in names if name.startswith(("map", "late"))]
            assert ours == [f"map-{number}" for number in range(5)]
            assert len(versions) == 1
            even = await client.list(CONFIG_MAPS, namespace, labels="parity=even", page_size=2)
            assert [entry["metadata"]["name"] for entry in even] == ["map-0", "map-2", "map-4"]

    asyncio.run(scenario())


def test_an_invalid_continue_token_is_expired_or_bad(bed, namespace):
    """Never a page of another list."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            path = CONFIG_MAPS.path(namespace)
            answer = await client._transport.request(
                "GET", path, query={"limit": "1", "continue": "nonsense"}, timeout=10
            )
            assert answer.status in (400, 410)

    asyncio.run(scenario())


def test_logs_of_a_pod(bed, namespace):
    """The requested tail; NotFound for a missing pod."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            with pytest.raises(errors.NotFound):
                await client.logs("none", namespace)
            if not bed.has_logs:
                return
            try:
                account = {"metadata": {"name": "default", "namespace": namespace}}
                await client.create(SERVICE_ACCOUNTS, account)
            except errors.AlreadyExists:
                pass
            pod = {
                "metadata": {"name": "a", "namespace": namespace},
                "spec": {"nodeName": "here", "containers": [{"name": "main", "image": "busybox"}]},
            }
            made = await client.create(PODS, pod)
            bed.write_log(made["metadata"]["uid"], "main", "one\ntwo\nthree")
            running = {"name": "main", "image": "busybox", "imageID": "", "ready": True, "restartCount": 0}
            running["state"] = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
            made["status"] = {"phase": "Running", "containerStatuses": [running]}
            await client.update(PODS, made, subresource="status")
            assert await client.logs("a", namespace, container="main", tail_lines=2) == b"two\nthree\n"
            assert await client.logs("a", namespace, limit_bytes=5) == b"one\nt"

    asyncio.run(scenario())


def test_an_unknown_token_is_unauthorized(bed, namespace):
    """Not Forbidden: the server cannot identify the caller."""

    async def scenario():
        async with bed.transport(token="nobody") as transport:  # noqa: S106
            with pytest.raises(errors.Unauthorized):
                await Client(transport, manager="contract").get(CONFIG_MAPS, "a", namespace)

    if bed.checks_tokens:
        asyncio.run(scenario())


def test_nothing_is_sent_to_an_untrusted_server(bed, namespace):
    """Its certificate is verified before the token is sent."""

    async def scenario():
        async with bed.transport(trusted=False) as transport:
            with pytest.raises(errors.NotSent):
                await Client(transport, manager="contract").get(CONFIG_MAPS, "a", namespace)

    if bed.checks_tokens:
        asyncio.run(scenario())


def test_an_unknown_kind_is_not_found(bed, namespace):
    """A CRD that is not installed yet."""

    async def scenario():
        async with a_client(bed, namespace) as client:
            with pytest.raises(errors.NotFound):
                await client.list(Resource("nowhere.dev", "v1", "things", "Thing"), namespace)

    asyncio.run(scenario())
