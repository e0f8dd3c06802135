"""Kubernetes objects over plain HTTP by kind and name: create, read, patch and delete on any server."""

import json
from typing import Any
from urllib.parse import urlencode

from support.kube_http import HttpClient

_PATHS = {
    "Orchestration": ("/apis/orchestration.proompteng.ai/v1alpha1", "orchestrations"),
    "OrchestrationRun": ("/apis/orchestration.proompteng.ai/v1alpha1", "orchestrationruns"),
    "Tool": ("/apis/tools.proompteng.ai/v1alpha1", "tools"),
    "ToolRun": ("/apis/tools.proompteng.ai/v1alpha1", "toolruns"),
    "Agent": ("/apis/agents.proompteng.ai/v1alpha1", "agents"),
    "AgentProvider": ("/apis/agents.proompteng.ai/v1alpha1", "agentproviders"),
    "AgentRun": ("/apis/agents.proompteng.ai/v1alpha1", "agentruns"),
    "ImplementationSpec": ("/apis/agents.proompteng.ai/v1alpha1", "implementationspecs"),
    "VersionControlProvider": ("/apis/agents.proompteng.ai/v1alpha1", "versioncontrolproviders"),
    "Schedule": ("/apis/schedules.proompteng.ai/v1alpha1", "schedules"),
    "SecretBinding": ("/apis/security.proompteng.ai/v1alpha1", "secretbindings"),
    "Secret": ("/api/v1", "secrets"),
    "Job": ("/apis/batch/v1", "jobs"),
    "Pod": ("/api/v1", "pods"),
    "Event": ("/api/v1", "events"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Namespace": ("/api/v1", "namespaces"),
    "CustomResourceDefinition": ("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
}
_CLUSTER_WIDE = {"Namespace", "CustomResourceDefinition"}
_MERGE = {"Content-Type": "application/merge-patch+json"}
_APPLY = {"Content-Type": "application/apply-patch+yaml"}
_JSON = {"Content-Type": "application/json"}


class Api:
    """Requests on objects of one namespace. An error response fails the test with the server's message."""

    def __init__(self, client: HttpClient, namespace: str = "default") -> None:
        self._client, self.namespace = client, namespace

    def create(self, kind: str, name: str, spec: Any = None, **more: Any) -> Any:
        body = {
            "apiVersion": self._version(kind),
            "kind": kind,
            "metadata": {"name": name},
            **({} if spec is None else {"spec": spec}),
            **more,
        }
        return self._request("POST", self._path(kind), body, _JSON)

    def apply(self, manifest: Any) -> Any:
        path = self._path(manifest["kind"], manifest["metadata"]["name"])
        return self._request("PATCH", f"{path}?fieldManager=tests&force=true", manifest, _APPLY)

    def find(self, kind: str, name: str) -> Any | None:
        """The object, or None if it does not exist."""
        answer = self._client.request("GET", self._path(kind, name))
        if answer.status == 404:
            return None
        assert answer.is_success, answer.body
        return answer.body

    def get(self, kind: str, name: str) -> Any:
        obj = self.find(kind, name)
        assert obj is not None, f"there is no {kind} {name}"
        return obj

    def all(self, kind: str, **selector: str) -> list[Any]:
        labels = ",".join(f"{name}={value}" for name, value in selector.items())
        query = f"?{urlencode({'labelSelector': labels})}" if labels else ""
        return self._request("GET", f"{self._path(kind)}{query}")["items"]

    def merge(self, kind: str, name: str, patch: Any) -> Any:
        return self._request("PATCH", self._path(kind, name), patch, _MERGE)

    def delete(self, kind: str, name: str, **options: Any) -> None:
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background", **options}
        answer = self._client.request("DELETE", self._path(kind, name), json.dumps(body).encode(), _JSON)
        assert answer.is_success or answer.status == 404, answer.body

    def logs(self, pod: str) -> str:
        """The log of a pod so far; empty if it is not available yet."""
        answer = self._client.request("GET", f"{self._path('Pod', pod)}/log")
        return answer.content.decode(errors="replace") if answer.is_success else ""

    def within(self, namespace: str) -> "Api":
        return Api(self._client, namespace)

    def _version(self, kind: str) -> str:
        return _PATHS[kind][0].removeprefix("/apis/").removeprefix("/api/")

    def _path(self, kind: str, name: str = "") -> str:
        prefix, plural = _PATHS[kind]
        inside = "" if kind in _CLUSTER_WIDE else f"/namespaces/{self.namespace}"
        return f"{prefix}{inside}/{plural}" + (f"/{name}" if name else "")

    def _request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> Any:
        content = None if body is None else json.dumps(body).encode()
        answer = self._client.request(method, path, content, headers)
        assert answer.is_success, f"{method} {path}: {answer.body}"
        return answer.body
