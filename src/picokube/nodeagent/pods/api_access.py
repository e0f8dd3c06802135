"""How a pod reaches the API as its service account: a token, the server's certificate and its address.

Only for pods that mount a token (`automountServiceAccountToken`), and only where volumes are mounted. A token is bound
to its pod: it ends with the pod, so it is not renewed.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from kubekit.client.api_client import Client, Obj
from kubekit.client.builtin import CONFIG_MAPS
from kubekit.client.errors import ApiError, NotFound
from kubekit.client.resource import Resource
from picokube.nodeagent.pods.spec_checks import is_token
from picokube.nodeagent.pods.volume_files import Places

log = logging.getLogger("picokube.nodeagent")

TOKEN_SECONDS: Final = 365 * 24 * 3600
"""What kube-apiserver extends such tokens to."""
ROOT_CERTIFICATE: Final = "kube-root-ca.crt"
DEFAULT_ACCOUNT: Final = "default"
_FILE_MODE, _DIRECTORY_MODE = 0o644, 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAccess:
    """Gives pods what they need to reach the API."""

    client: Client
    places: Places
    server: str
    """Where the API listens, as `https://127.0.0.1:7447`; empty where pods cannot reach it."""

    async def prepare(self, pod: Obj) -> Mapping[str, str]:
        """Write the files of its token volume, once, and return the variables that name the server."""
        spec, meta = pod["spec"], pod["metadata"]
        name = next(
            (each["name"] for each in spec.get("volumes") or () if is_token(spec, each["name"])), None
        )
        if name is None or not self.server.startswith("https:"):
            return {}
        directory = self.places.volume(meta["uid"], name)
        if not (directory / "token").exists():
            try:
                token = await self._token(pod)
                certificate = await self._certificate(meta["namespace"])
            except ApiError as error:
                log.warning(
                    "pod gets no API token",
                    extra={"namespace": meta["namespace"], "pod": meta["name"], "error": str(error)},
                )
                return {}
            _write(directory, {"namespace": meta["namespace"], "ca.crt": certificate, "token": token})
        address = urlsplit(self.server)
        return {
            "KUBERNETES_SERVICE_HOST": address.hostname or "",
            "KUBERNETES_SERVICE_PORT": str(address.port or 443),
        }

    async def _token(self, pod: Obj) -> str:
        meta = pod["metadata"]
        account = pod["spec"].get("serviceAccountName") or DEFAULT_ACCOUNT
        bound = {"kind": "Pod", "apiVersion": "v1", "name": meta["name"], "uid": meta["uid"]}
        # A token is made below its account, so the path of the collection is the account's.
        tokens = Resource("", "v1", f"serviceaccounts/{account}/token", "TokenRequest")
        made = await self.client.create(
            tokens,
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "metadata": {"name": account, "namespace": meta["namespace"]},
                "spec": {"expirationSeconds": TOKEN_SECONDS, "boundObjectRef": bound},
            },
        )
        token: str = made["status"]["token"]
        return token

    async def _certificate(self, namespace: str) -> str:
        try:
            found: Any = await self.client.get(CONFIG_MAPS, ROOT_CERTIFICATE, namespace)
        except NotFound:
            return ""
        text: str = (found.get("data") or {}).get("ca.crt", "")
        return text


def _write(directory: Path, files: Mapping[str, str]) -> None:
    """The token last: what is there with it is whole."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(_DIRECTORY_MODE)
    for name, text in files.items():
        path = directory / name
        path.write_text(text)
        path.chmod(_FILE_MODE)
