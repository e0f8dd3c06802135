"""The roles of a new server."""

import asyncio

from picokube.apiserver.auth.access import GROUP, Access, PathRequest, ResourceRequest
from picokube.apiserver.lifecycle.roles import ensure_bootstrap_roles
from picokube.apiserver.protocol.messages import ANONYMOUS, User
from support.server_parts import make, server_parts

EDITING = {
    "kind": "ClusterRoleBinding",
    "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "edit"},
    "subjects": [{"kind": "User", "name": "editor"}],
}


def test_a_new_server_has_the_default_roles(tmp_path):
    """Strangers see that it is alive, users what it serves and what they may; an editor changes no roles."""

    async def story():
        async with server_parts(tmp_path) as serving:
            await ensure_bootstrap_roles(serving)
            revision = serving.store.revision
            await ensure_bootstrap_roles(serving)
            assert serving.store.revision == revision
            await make(serving, "clusterrolebindings", EDITING, namespace=None, group=GROUP)
            return _allowed(Access(serving.store))

    assert asyncio.run(story()) == {
        "stranger": ["/livez"],
        "user": ["/livez", "/apis/batch"],
        "editor": ["/livez", "/apis/batch", "list pods", "delete jobs", "get secrets"],
    }


def _allowed(access):
    user = User(name="x", groups=("system:authenticated",))
    asks = {
        "/livez": PathRequest(verb="get", path="/livez"),
        "/apis/batch": PathRequest(verb="get", path="/apis/batch"),
        "/metrics": PathRequest(verb="get", path="/metrics"),
        "list pods": ResourceRequest(verb="list", resource="pods"),
        "delete jobs": ResourceRequest(verb="delete", group="batch", resource="jobs"),
        "get secrets": ResourceRequest(verb="get", resource="secrets"),
        "create roles": ResourceRequest(verb="create", group="rbac.authorization.k8s.io", resource="roles"),
    }
    editor = User(name="editor", groups=user.groups)
    users = {"stranger": ANONYMOUS, "user": user, "editor": editor}
    return {
        name: [item for item, ask in asks.items() if access.decide(who, ask).allowed]
        for name, who in users.items()
    }
