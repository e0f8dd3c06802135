"""A tenant who may create every kind cannot freeze, fill or stop the control plane, or stop another tenant (E2, E3).

The sample of a normal run is small and its limits are wide: a CI machine runs other tests at the same time. With
`JANGAR_SIMULATION=all` the tenant creates 20,000 objects and the product's limits apply.
"""

import base64
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest
import yaml

from e2e.laptop_process import LaptopProcess
from support.proving import FULL
from support.reliability_page import record_trials

HERE = Path(__file__).parent
SEED = int(os.environ.get("JANGAR_HOSTILE_SEED", "1"))
OBJECTS = int(os.environ.get("JANGAR_HOSTILE_OBJECTS", "20000" if FULL else "120"))
MAX_DURATION_SECONDS = float(os.environ.get("JANGAR_HOSTILE_SECONDS", "7200" if FULL else "12"))
MAX_LIVEZ = 0.25 if FULL else 15.0
MAX_MEMORY = 1024**3
"""The memory limit of the controllers in the chart."""
GROUPS = [
    f"{group}.proompteng.ai"
    for group in (
        *(
            "agents",
            "approvals",
            "artifacts",
            "budgets",
            "orchestration",
            "schedules",
            "security",
            "signals",
            "swarm",
        ),
        *("tools", "workspaces"),
    )
]
TENANT = [
    {
        "apiVersion": "tools.proompteng.ai/v1alpha1",
        "kind": "Tool",
        "metadata": {"name": "true", "namespace": "default"},
        "spec": {"image": "any", "command": ["true"]},
    },
    {
        "apiVersion": "orchestration.proompteng.ai/v1alpha1",
        "kind": "Orchestration",
        "metadata": {"name": "ordinary", "namespace": "default"},
        "spec": {
            "parameters": [{"name": "env", "default": "dev"}],
            "steps": [
                {"name": "a", "kind": "ToolRun", "toolRef": {"name": "true"}},
                {
                    "name": "b",
                    "kind": "ToolRun",
                    "toolRef": {"name": "true"},
                    "dependsOn": ["a"],
                    "when": "parameters.env.matches('^dev')",
                },
            ],
        },
    },
]


class Admin:
    """The API with the owner's permissions."""

    def __init__(self, data: Path) -> None:
        config = yaml.safe_load((data / "kubeconfig").read_text())
        cluster = config["clusters"][0]["cluster"]
        self.server = cluster["server"]
        self.authority = data.parent / "authority.pem"
        self.authority.write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
        self._token = config["users"][0]["user"]["token"]
        self._context = ssl.create_default_context(cafile=str(self.authority))

    def request(self, method: str, path: str, body: dict | None = None) -> dict:
        request = urllib.request.Request(  # noqa: S310 - our own server
            self.server + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, context=self._context, timeout=60) as answer:  # noqa: S310
            return json.load(answer)

    def limited_user(self, namespace: str) -> str:
        """The token of an account that may only write the product's kinds in one namespace."""
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        core = f"/api/v1/namespaces/{namespace}"
        account = {"kind": "ServiceAccount", "name": "tenant", "namespace": namespace}
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        self.request("POST", f"{core}/serviceaccounts", {"metadata": {"name": "tenant"}})
        rules = [{"apiGroups": GROUPS, "resources": ["*"], "verbs": ["*"]}]
        self.request(
            "POST", f"{rbac}/namespaces/{namespace}/roles", {"metadata": {"name": "tenant"}, "rules": rules}
        )
        self.request(
            "POST",
            f"{rbac}/namespaces/{namespace}/rolebindings",
            {
                "metadata": {"name": "tenant"},
                "subjects": [account],
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"},
            },
        )
        path = f"{core}/serviceaccounts/tenant/token"
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 86_400},
        }
        token: str = self.request("POST", path, body)["status"]["token"]
        return token

    def start_run(self, number: int) -> str:
        run = {
            "apiVersion": "orchestration.proompteng.ai/v1alpha1",
            "kind": "OrchestrationRun",
            "metadata": {"name": f"ordinary-{number}"},
            "spec": {"orchestrationRef": {"name": "ordinary"}},
        }
        self.request("POST", f"{_RUNS}", run)
        return f"ordinary-{number}"

    def phase(self, name: str) -> str:
        status = self.request("GET", f"{_RUNS}/{name}").get("status") or {}
        return str(status.get("phase"))


_RUNS = "/apis/orchestration.proompteng.ai/v1alpha1/namespaces/default/orchestrationruns"


def memory_of(pid: int) -> int:
    """The peak memory of the process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


@pytest.fixture
def laptop(tmp_path):
    made = LaptopProcess(tmp_path)
    made.start()
    yield made
    if made.up.poll() is None:
        made.done("down", "--stop-work")
        made.up.wait(timeout=60)
    made.end()


def test_a_hostile_tenant_does_not_affect_others(laptop, record_property):
    """E2, E3: while objects of every kind, alone and in pairs, are created as fast as one connection allows, /livez
    responds, memory stays below the chart's limit, the process lives, and the other tenant's runs succeed.
    """
    admin = Admin(laptop.data)
    token = admin.limited_user("hostile")
    laptop.apply(*TENANT)
    environment = laptop.environment | {"HOSTILE_TOKEN": token, "PYTHONPATH": str(HERE.parent)}
    probe = subprocess.Popen(
        [sys.executable, HERE / "livez_probe.py", admin.authority, f"{admin.server}/livez"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    tenant = subprocess.Popen(
        [
            *(sys.executable, "-m", "e2e.hostile_tenant", admin.server, admin.authority, "hostile"),
            *(str(SEED), str(OBJECTS), str(MAX_DURATION_SECONDS)),
        ],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    runs = []
    with probe, tenant:
        while tenant.poll() is None:
            runs.append(admin.start_run(len(runs)))
            deadline = time.monotonic() + (20 if FULL else 3)
            while time.monotonic() < deadline and tenant.poll() is None:
                time.sleep(0.2)
        did = json.loads(tenant.communicate()[0])
        answered = json.loads(probe.communicate("")[0])
    laptop.until(lambda: all(admin.phase(name) in {"Succeeded", "Failed"} for name in runs), seconds=300)
    peak = memory_of(laptop.up.pid)
    print(json.dumps({"did": did, "livez": answered, "memory": peak, "load": os.getloadavg()}))  # noqa: T201
    is_well = (
        laptop.up.poll() is None
        and {admin.phase(name) for name in runs} == {"Succeeded"}
        and answered["failed"] == 0
        and answered["slowest"][0][0] <= MAX_LIVEZ
        and peak < MAX_MEMORY
    )
    record_trials(
        record_property,
        row="hostile tenant: every kind, alone and in pairs",
        bed="P",
        seeds=range(did["objects"]),
        failures=int(not is_well),
    )
    assert is_well, {"livez": answered, "memory": peak, "runs": [admin.phase(name) for name in runs]}
    assert did["answers"].get("201", 0) > did["objects"] // 4
    assert "0" not in did["answers"]
