"""`jangar control-plane` in front of a real API server and of ours, with history and users with few permissions."""

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jangar.store.database_history import DatabaseHistory
from jangar.store.rows import Ended, RunRow
from jangar.store.urls import SqliteFile
from support.api_servers import ApiServer, EmbeddedApiServer, RealApiServer
from support.child_processes import Child, free_port
from support.control_plane_client import ControlPlaneClient
from support.envtest import missing_parts

JANGAR = Path(sys.executable).with_name("jangar")
SECRET = "of-the-proxy-and-of-us-alone"  # noqa: S105 - of this test
HERE, THERE = "team-a", "team-b"
GROUP = "orchestration.proompteng.ai"


@dataclass(kw_only=True)
class ControlPlane:
    """A control plane and the API that it serves."""

    server: ApiServer
    http: ControlPlaneClient
    process: Child | None = None
    directory: Path
    tokens: dict[str, str] = field(default_factory=dict)

    def api(self, method, path, body=None, media="application/json"):
        client = self.server.client()
        try:
            sent = json.dumps(body).encode() if body is not None else None
            answer = client.request(method, path, sent, {"Content-Type": media} if sent else None)
            assert answer.is_success, answer.content
            return answer.body
        finally:
            client.close()

    def restart(self, *words):
        self.process.stop()
        self.process = started(self.server, self.http.host.rpartition(":")[2], self.directory, *words)


def started(server, port, directory, *words):
    """With a database, a trusted proxy and every namespace."""
    child = Child(
        "control-plane",
        [JANGAR, "control-plane", "--kubeconfig", server.kubeconfig, "--port", str(port), "-n", "*", *words],
        directory,
        env={
            "DATABASE_URL": f"sqlite:///{directory}/history.sqlite",
            "JANGAR_TRUSTED_PROXY_USER_HEADER": "X-Forwarded-User",
            "JANGAR_TRUSTED_PROXY_GROUPS_HEADER": "X-Forwarded-Groups",
            "JANGAR_TRUSTED_PROXY_USERS": "*",
            "JANGAR_TRUSTED_PROXY_SECRET": SECRET,
        },
    )
    http = ControlPlaneClient(f"http://127.0.0.1:{port}", "")
    child.wait_until(lambda: _is_ready(http), seconds=60)
    return child


def _is_ready(http):
    try:
        return http.request("GET", "/ready", token=None).status == 200
    except OSError:
        time.sleep(0.05)
        return False


@pytest.fixture(scope="session", params=["embedded", "real"])
def control_plane(request, tmp_path_factory):
    if request.param == "real" and (missing := missing_parts()):
        pytest.skip(f"no {', '.join(missing)} (make envtest)")
    server = EmbeddedApiServer() if request.param == "embedded" else RealApiServer()
    directory = tmp_path_factory.mktemp(f"plane-{request.param}")
    made = None
    try:
        asyncio.run(_fill(directory))
        _install(server)
        port = free_port()
        made = ControlPlane(
            server=server,
            http=ControlPlaneClient(f"http://127.0.0.1:{port}", server.token),
            directory=directory,
        )
        _people(made)
        made.process = started(server, port, directory)
        yield made
    finally:
        if made is not None and made.process is not None:
            made.process.stop()
        server.stop()


def _install(server):
    subprocess.run(
        [JANGAR, "crds", "install", "--kubeconfig", server.kubeconfig], check=True, capture_output=True
    )


def _people(control_plane):
    """`ann` may do everything with runs in one namespace, `eve` nothing; `pat` signs in through the proxy."""
    for name in (HERE, THERE):
        control_plane.api("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    rules = [
        {"apiGroups": [GROUP], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["events", "pods", "pods/log"], "verbs": ["get", "list"]},
    ]
    access = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{HERE}"
    control_plane.api("POST", f"{access}/roles", {"metadata": {"name": "runs"}, "rules": rules})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "runs"}
    subjects = [
        {"kind": "ServiceAccount", "name": "ann", "namespace": HERE},
        {"kind": "Group", "name": "team-a-people", "apiGroup": "rbac.authorization.k8s.io"},
    ]
    binding = {"metadata": {"name": "runs"}, "roleRef": role, "subjects": subjects}
    control_plane.api("POST", f"{access}/rolebindings", binding)
    for name in ("ann", "eve"):
        accounts = f"/api/v1/namespaces/{HERE}/serviceaccounts"
        control_plane.api("POST", accounts, {"metadata": {"name": name}})
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        made = control_plane.api("POST", f"{accounts}/{name}/token", body)
        control_plane.tokens[name] = made["status"]["token"]
    for namespace_name in (HERE, THERE):
        run = {
            "apiVersion": f"{GROUP}/v1alpha1",
            "kind": "OrchestrationRun",
            "metadata": {"name": "live"},
            "spec": {
                "orchestration": {"steps": [{"name": "a", "kind": "ToolRun", "toolRef": {"name": "x"}}]}
            },
        }
        control_plane.api(
            "POST", f"/apis/{GROUP}/v1alpha1/namespaces/{namespace_name}/orchestrationruns", run
        )


async def _fill(directory):
    """Store a deleted run in each namespace."""
    history = DatabaseHistory(SqliteFile(directory / "history.sqlite"))
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    await history.store(
        [
            Ended(
                run=RunRow(
                    uid=f"old-{namespace_name}",
                    kind="OrchestrationRun",
                    namespace=namespace_name,
                    name="old",
                    version=1,
                    phase="Succeeded",
                    created_at=noon,
                    finished_at=noon + timedelta(minutes=1),
                    updated_at=noon + timedelta(minutes=1),
                    root_uid=f"old-{namespace_name}",
                )
            )
            for namespace_name in (HERE, THERE)
        ]
    )
    await history.close()
