"""Defaults of pods and pod templates. Knows fields and values of a pod's spec; validates nothing."""

from collections.abc import Iterator
from typing import Final

import re2

from picokube.apiserver.protocol.messages import JsonObject

MODE: Final = 0o644
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re2.compile(
    rf"(?:(?:[A-Za-z0-9.-]*[.:][A-Za-z0-9.:-]*|localhost)/)?{_PART}(?:/{_PART})*(?::([A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}}))?(@.+)?"
)
"""Perhaps a registry, a path in lower case, a tag, a digest."""


def containers_of(spec: JsonObject) -> Iterator[JsonObject]:
    for name in _CONTAINERS:
        yield from spec.get(name) or ()


def default_pod_spec(spec: JsonObject) -> None:
    """What both pods and templates get."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    # Two names of one thing.
    if account := spec.get("serviceAccountName") or spec.get("serviceAccount"):
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for container in containers_of(spec):
        _default_container(container)
    for volume in spec.get("volumes") or ():
        default_volume(volume)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)


def _default_host_ports(spec: JsonObject) -> None:
    for container in containers_of(spec):
        for port in container.get("ports") or ():
            if not port.get("hostPort") and port.get("containerPort"):
                port["hostPort"] = port["containerPort"]


def default_pod(spec: JsonObject) -> None:
    """What only pods get: requests from limits, and links to services."""
    spec.setdefault("enableServiceLinks", True)
    for name in ("containers", "initContainers"):
        for container in spec.get(name) or ():
            resources = container.get("resources") or {}
            if limits := resources.get("limits"):
                resources["requests"] = limits | resources.get("requests", {})


def pull_policy(image: str) -> str:
    """Always for what may change under its name: no tag, or latest."""
    found = _IMAGE.fullmatch(image)
    if found is None:
        return "IfNotPresent"
    tag = found[1] or ("" if found[2] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _default_container(container: JsonObject) -> None:
    container.setdefault("imagePullPolicy", pull_policy(container.get("image", "")))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for env in container.get("env") or ():
        field = (env.get("valueFrom") or {}).get("fieldRef")
        if field is not None:
            field.setdefault("apiVersion", "v1")
    for name in _PROBES:
        if probe := container.get(name):
            _default_probe(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict) and hook.get("httpGet") is not None:
            _default_http(hook["httpGet"])


def _default_probe(probe: JsonObject) -> None:
    for name, value in _PROBE.items():
        if not probe.get(name):
            probe[name] = value
    if probe.get("httpGet") is not None:
        _default_http(probe["httpGet"])
    if probe.get("grpc") is not None and probe["grpc"].get("service") is None:
        probe["grpc"]["service"] = ""


def _default_http(action: JsonObject) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def default_volume(volume: JsonObject) -> None:
    if set(volume) <= {"name"}:
        volume["emptyDir"] = {}
    for name in ("secret", "configMap", "downwardAPI", "projected"):
        if volume.get(name) is not None:
            volume[name].setdefault("defaultMode", MODE)
    _default_fields(volume)
    for source in (volume.get("projected") or {}).get("sources") or ():
        if source.get("serviceAccountToken") is not None:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        _default_fields(source)
    if volume.get("hostPath") is not None:
        volume["hostPath"].setdefault("type", "")
    if volume.get("image") is not None:
        volume["image"].setdefault("pullPolicy", pull_policy(volume["image"].get("reference", "")))
    if volume.get("iscsi") is not None:
        volume["iscsi"].setdefault("iscsiInterface", "default")
    if template := (volume.get("ephemeral") or {}).get("volumeClaimTemplate"):
        template.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")


def _default_fields(source: JsonObject) -> None:
    for item in (source.get("downwardAPI") or {}).get("items") or ():
        if item.get("fieldRef") is not None:
            item["fieldRef"].setdefault("apiVersion", "v1")
