"""The real kubectl as a user runs it, on the embedded server and on a real one.

Finds the binary and normalizes output that differs between runs; the tests decide what to expect.
"""

import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.api_servers import CONTROLLERS, ApiServer, EmbeddedApiServer, RealApiServer, wait_for
from support.envtest import assets, missing_parts

DEADLINE = 60.0
VERSION = "1.35"
CRDS = Path(__file__).parents[2] / "charts" / "agents" / "crds"
EXAMPLES = CRDS.with_name("examples")
_ROOT_CERTIFICATE = "root-ca-certificate-publisher-controller"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_AGE = re.compile(r"(?<=\s)(\d+(ms|s|m|h))+(?=\s|$)", re.MULTILINE)


@cache
def kubectl_binary() -> Path | None:
    """The binary from KUBEBUILDER_ASSETS or the cache of `make envtest`, else from the PATH."""
    if not missing_parts(("kubectl",)):
        return assets() / "kubectl"
    on_path = shutil.which("kubectl")
    return Path(on_path) if on_path else None


@cache
def version_of(binary: Path) -> str:
    """For example `1.35`: other versions print other messages."""
    words = [str(binary), "version", "--client", "--output=json"]
    reported = subprocess.run(words, check=True, capture_output=True, text=True, timeout=DEADLINE)
    version = json.loads(reported.stdout)["clientVersion"]
    return f"{version['major']}.{version['minor']}"


@dataclass(frozen=True, kw_only=True)
class Ran:
    """The output and exit code of a command."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, kw_only=True)
class Kubectl:
    """kubectl with its own home, in one namespace of one server."""

    server: ApiServer
    binary: Path
    home: Path
    namespace: str = "default"

    def __call__(self, line: str, stdin: Any = None) -> str:
        """Run a command line; return its output if it succeeds."""
        ran = self.run(line, stdin)
        assert ran.code == 0, f"kubectl {line}: ended with {ran.code}\n{ran.out}{ran.err}"
        return ran.out

    def refused(self, line: str, stdin: Any = None) -> str:
        """The error output of a command line that must fail."""
        ran = self.run(line, stdin)
        assert ran.code == 1, f"kubectl {line}: ended with {ran.code}\n{ran.out}{ran.err}"
        return ran.err

    def json(self, line: str, stdin: Any = None) -> Any:
        return json.loads(self(f"{line} -o json", stdin))

    def run(self, line: str, stdin: Any = None) -> Ran:
        ran = subprocess.run(
            self._words(line),
            check=False,
            input=_text(stdin),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            env=self._environment(),
        )
        return Ran(code=ran.returncode, out=ran.stdout, err=ran.stderr)

    def start(self, line: str) -> subprocess.Popen[str]:
        """Start a long-running command; the test ends it."""
        return subprocess.Popen(
            self._words(line),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self._environment(),
        )

    def within(self, namespace: str) -> "Kubectl":
        return replace(self, namespace=namespace)

    def _words(self, line: str) -> list[str]:
        return [str(self.binary), f"--namespace={self.namespace}", *shlex.split(line)]

    def _environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.home),
            "PATH": os.environ.get("PATH", os.defpath),
            "KUBECONFIG": str(self.server.kubeconfig),
            "LC_ALL": "C",
            "TZ": "UTC",
        }


def on(*servers: str, own_kinds: bool = True) -> Any:
    """The module's `kubectl` fixture for each of the named servers; the product's kinds are installed."""

    @pytest.fixture(scope="module", params=servers, name="kubectl")
    def kubectl(request: pytest.FixtureRequest) -> Iterator[Kubectl]:
        binary = kubectl_binary()
        if binary is None:
            pytest.skip("no kubectl: run scripts/envtest/build kubectl, or set KUBEBUILDER_ASSETS")
        if (version := version_of(binary)) != VERSION:
            pytest.skip(f"{binary} is {version}; the expectations are for kubectl {VERSION}")
        if request.param == "real" and (missing := missing_parts()):
            pytest.skip(f"no real API server ({', '.join(missing)} missing): run scripts/envtest/build")
        server = RealApiServer() if request.param == "real" else EmbeddedApiServer()
        home = Path(tempfile.mkdtemp(prefix="jangar-kubectl-"))
        try:
            kubectl = Kubectl(server=server, binary=binary, home=home)
            if own_kinds:
                install_own_kinds(kubectl)
            # Afterwards: a real garbage collector takes half a minute to notice new kinds.
            server.start_controllers((*CONTROLLERS, _ROOT_CERTIFICATE))
            if own_kinds:
                await_collection(kubectl)
            yield kubectl
        finally:
            server.stop()
            shutil.rmtree(home, ignore_errors=True)

    return kubectl


def in_own_namespace() -> Any:
    """Each test's `k` fixture: kubectl in a namespace with the default objects."""

    @pytest.fixture(name="k")
    def k(kubectl: Kubectl) -> Kubectl:
        return in_new_namespace(kubectl)

    return k


def in_new_namespace(kubectl: Kubectl) -> Kubectl:
    name = "t-" + "".join(secrets.choice(_ALPHABET) for _ in range(6))
    client = kubectl.server.client()
    body = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).encode()
    made = client.request("POST", "/api/v1/namespaces", body, {"Content-Type": "application/json"})
    assert made.is_success, made.content
    for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
        url = f"/api/v1/namespaces/{name}/{path}"
        wait_for(lambda url=url: client.request("GET", url).is_success, what=url)
    client.close()
    return kubectl.within(name)


def install_own_kinds(kubectl: Kubectl) -> None:
    """Install the product's CRDs and wait until they are served."""
    kubectl(f"apply --server-side -f {CRDS}")
    kinds = ",".join(".".join(path.stem.split("_")[::-1]) for path in CRDS.glob("*.yaml"))
    wait_for(lambda: kubectl.run(f"get {kinds}").code == 0, what="that every kind is served")


def await_collection(kubectl: Kubectl) -> None:
    """A real garbage collector that missed a kind at start retries after half a minute."""
    k = in_new_namespace(kubectl)
    owner = {
        "apiVersion": "tools.proompteng.ai/v1alpha1",
        "kind": "ToolRun",
        "metadata": {"name": "owner"},
        "spec": {"toolRef": {"name": "any"}},
    }
    made = k.json("create -f -", owner)
    reference = {"apiVersion": made["apiVersion"], "kind": made["kind"], "name": "owner"}
    meta = {"name": "owned", "ownerReferences": [reference | {"uid": made["metadata"]["uid"]}]}
    k("create -f -", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta})
    k("delete toolrun owner --cascade=background")
    wait_for(
        lambda: not k("get configmap owned --ignore-not-found"), seconds=120, what="the first collection"
    )


def ageless(text: str) -> str:
    """Replace every age with AGE, collapse blanks, and strip lines."""
    shown = _AGE.sub("AGE", text)
    return "\n".join(re.sub(r" +", " ", line).rstrip() for line in shown.splitlines())


def ended(process: subprocess.Popen[str]) -> str:
    """End a long-running command; return its output."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=10)[0]
    process.kill()
    return process.communicate(timeout=10)[0]


def _text(stdin: Any) -> str | None:
    match stdin:
        case None | str():
            return stdin
        case list():
            # JSON is YAML, too; earlier versions take text that starts with a bracket for one document.
            return "".join(f"---\n{json.dumps(document)}\n" for document in stdin)
        case _:
            return json.dumps(stdin)
