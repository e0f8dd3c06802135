"""Gives pods access to the API server: service account token, CA certificate and server address.

Only pods that mount a token (`automountServiceAccountToken`) get access, and only if mount namespaces are available. A
token is bound to its pod and expires with it, so it isn't renewed.
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
from picokube.nodeagent.pods.volume_files import AgentPaths

log = logging.getLogger("picokube.nodeagent")

TOKEN_SECONDS: Final = 365 * 24 * 3600
"""The lifetime to which kube-apiserver extends such tokens."""
ROOT_CERTIFICATE: Final = "kube-root-ca.crt"
DEFAULT_ACCOUNT: Final = "default"
_FILE_MODE, _DIRECTORY_MODE = 0o644, 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAccess:
    """Prepares the token volume and environment of pods."""

    client: Client
    paths: AgentPaths
    server: str
    """URL of the API server, such as `https://127.0.0.1:7447`. Empty if pods can't reach it."""

    async def prepare(self, pod: Obj) -> Mapping[str, str]:
        """Write the files of the token volume, once, and return the environment variables of the server address."""
        spec, meta = pod["spec"], pod["metadata"]
        name = next(
            (volume["name"] for volume in spec.get("volumes") or () if is_token(spec, volume["name"])), None
        )
        if name is None or not self.server.startswith("https:"):
            return {}
        directory = self.paths.volume(meta["uid"], name)
        if not (directory / "token").exists():
            try:
                token = await self._token(pod)
                certificate = await self._certificate(meta["namespace"])
            except ApiError as error:
                log.warning(
                    "service account token request failed; starting the pod without a token",
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
        # TokenRequest is a subresource of the service account.
        tokens = Resource("", "v1", f"serviceaccounts/{account}/token", "TokenRequest")
        response = await self.client.create(
            tokens,
            {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenRequest",
                "metadata": {"name": account, "namespace": meta["namespace"]},
                "spec": {"expirationSeconds": TOKEN_SECONDS, "boundObjectRef": bound},
            },
        )
        token: str = response["status"]["token"]
        return token

    async def _certificate(self, namespace: str) -> str:
        try:
            config_map: Any = await self.client.get(CONFIG_MAPS, ROOT_CERTIFICATE, namespace)
        except NotFound:
            return ""
        certificate: str = (config_map.get("data") or {}).get("ca.crt", "")
        return certificate


def _write(directory: Path, files: Mapping[str, str]) -> None:
    """Write the files in order. The token comes last and marks the volume as complete."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(_DIRECTORY_MODE)
    for name, text in files.items():
        path = directory / name
        path.write_text(text)
        path.chmod(_FILE_MODE)
