"""D2: ClusterRoles that are made of others."""

import asyncio
from contextlib import suppress

import orjson

from picokube.apiserver.auth.access import GROUP, Access, ResourceRequest
from picokube.apiserver.lifecycle.roles import (
    ROLES,
    RoleAggregation,
    aggregated_rules,
    ensure_bootstrap_roles,
)
from picokube.apiserver.objects.object_store import create
from picokube.apiserver.protocol.messages import User
from picokube.apiserver.storage.store import Key
from support.server_parts import OPTIONS, make, server_parts

PODS = {"verbs": ["list"], "apiGroups": [""], "resources": ["pods"]}
JOBS = {"verbs": ["list"], "apiGroups": ["batch"], "resources": ["jobs"]}


def _role(name, *rules, labels=None, gathers=None):
    role = {"metadata": {"name": name, "labels": labels or {}}, "rules": list(rules)}
    if gathers:
        role["aggregationRule"] = {"clusterRoleSelectors": [{"matchLabels": gather} for gather in gathers]}
    return role


def test_rules_come_selector_by_selector_and_by_name_and_each_once():
    """Its own rules do not count, even if it selects itself."""
    whole = _role("whole", PODS, labels={"to": "x"}, gathers=[{"to": "y"}, {"to": "x"}])
    roles = [
        whole,
        _role("b", PODS, JOBS, labels={"to": "x"}),
        _role("a", JOBS, labels={"to": "x"}),
        _role("c", JOBS, labels={"to": "y"}),
        _role("d", {"verbs": ["*"], "nonResourceURLs": ["*"]}),
    ]
    assert aggregated_rules(whole, roles) == [JOBS, PODS]
    assert aggregated_rules(_role("none"), roles) == []


def test_a_chain_of_roles_is_filled_to_its_end(tmp_path):
    """A role that is filled may be chosen by another; a circle ends."""
    story = [
        _role("one", gathers=[{"to": "one"}], labels={"to": "two"}),
        _role("two", gathers=[{"to": "two"}], labels={"to": "one"}),
        _role("part", PODS, labels={"to": "one"}),
    ]

    async def run():
        async with server_parts(tmp_path) as serving:
            following = asyncio.ensure_future(RoleAggregation(serving).run())
            resource = serving.registry.find(GROUP, "v1", "clusterroles")
            for role in story:
                whole = {"apiVersion": resource.api_version, "kind": "ClusterRole", **role}
                await create(serving, resource, None, whole, OPTIONS)
            async with asyncio.timeout(10):
                while _rules(serving, "two") != [PODS]:  # noqa: ASYNC110 - a follower sends no event when it is done
                    await asyncio.sleep(0.01)
            revision = serving.store.revision
            await asyncio.sleep(0.05)
            assert serving.store.revision == revision
            assert _rules(serving, "one") == [PODS]
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    asyncio.run(run())


def test_an_editor_holds_leases_and_both_kinds_of_events_from_the_start(tmp_path):
    """The default roles are filled when they are created, without waiting for the follower."""

    async def run():
        async with server_parts(tmp_path) as serving:
            await ensure_bootstrap_roles(serving)
            binding = {
                "kind": "ClusterRoleBinding",
                "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "edit"},
                "subjects": [{"kind": "User", "name": "editor"}],
            }
            await make(serving, "clusterrolebindings", binding, namespace=None, group=GROUP)
            access, editor = Access(serving.store), User(name="editor")
            asks = [
                ResourceRequest(verb="update", group="coordination.k8s.io", resource="leases", namespace="n"),
                ResourceRequest(verb="list", group="events.k8s.io", resource="events", namespace="n"),
                ResourceRequest(verb="create", resource="events", namespace="n"),
                ResourceRequest(verb="create", group=GROUP, resource="roles", namespace="n"),
            ]
            return [access.decide(editor, ask).allowed for ask in asks]

    assert asyncio.run(run()) == [True, True, True, False]


def _rules(serving, name):
    return orjson.loads(serving.store.get(Key(ROLES, "", name)).data).get("rules")
