"""What is served, for clients that ask: aggregated and classic discovery, and the version."""

import hashlib
from collections import defaultdict

import orjson

from jangar.apiserver.messages import Request, Response, json_response
from jangar.apiserver.registry import Registry
from jangar.apiserver.resources import JsonObject, ResourceType

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
GIT_VERSION, MAJOR, MINOR = "v1.35.4", "1", "35"

VERSION = {
    "major": MAJOR,
    "minor": MINOR,
    "emulationMajor": MAJOR,
    "emulationMinor": MINOR,
    "minCompatibilityMajor": MAJOR,
    "minCompatibilityMinor": "34",
    "gitVersion": GIT_VERSION,
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


class Discovery:
    """Answers about the table of kinds."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def answer(self, request: Request) -> Response | None:
        """The document that a path names, or None."""
        parts = [part for part in request.path.split("/") if part]
        aggregated = _wants_aggregated(request)
        match parts:
            case ["version"]:
                return json_response(VERSION)
            case ["api"] | ["apis"] if aggregated:
                return self._aggregated(core=parts == ["api"])
            case ["api"]:
                return json_response(
                    {
                        "kind": "APIVersions",
                        "versions": ["v1"],
                        "serverAddressByClientCIDRs": [],
                    }
                )
            case ["apis"]:
                groups = [self._group(name) for name in self._groups() if name]
                return json_response({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
            case ["api", version] if self._registry.has_version("", version):
                return json_response(self._resource_list("", version))
            case ["apis", group] if group and self._registry.has_group(group):
                return json_response({"kind": "APIGroup", "apiVersion": "v1"} | self._group(group))
            case ["apis", group, version] if self._registry.has_version(group, version):
                return json_response(self._resource_list(group, version))
            case _:
                return None

    def _groups(self) -> dict[str, list[str]]:
        """Versions of each group, in the order in which they are served."""
        found: dict[str, list[str]] = defaultdict(list)
        for each in self._registry:
            if each.version not in found[each.group]:
                found[each.group].append(each.version)
        return {group: sorted(versions, key=version_order) for group, versions in found.items()}

    def _group(self, name: str) -> JsonObject:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version} for version in self._groups()[name]
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _resource_list(self, group: str, version: str) -> JsonObject:
        resources: list[JsonObject] = []
        for each in self._of(group, version):
            resources.append(_classic(each))
            resources += [_classic_subresource(each, name) for name in sorted(each.subresources)]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": resources,
        }

    def _of(self, group: str, version: str) -> list[ResourceType]:
        found = [each for each in self._registry if (each.group, each.version) == (group, version)]
        return sorted(found, key=lambda each: each.plural)

    def _aggregated(self, *, core: bool) -> Response:
        items = [
            {
                "metadata": {"name": group, "creationTimestamp": None}
                if group
                else {"creationTimestamp": None},
                "versions": [
                    {
                        "version": version,
                        "resources": [_discovered(each) for each in self._of(group, version)],
                        "freshness": "Current",
                    }
                    for version in versions
                ],
            }
            for group, versions in self._groups().items()
            if (group == "") is core
        ]
        document = {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": "apidiscovery.k8s.io/v2",
            "metadata": {},
            "items": items,
        }
        digest = hashlib.sha512(orjson.dumps(items)).hexdigest().upper()
        headers = (("ETag", f'"{digest}"'), ("Vary", "Accept"))
        return json_response(document, content_type=AGGREGATED, headers=headers)


def version_order(version: str) -> tuple[int, int, int]:
    """Stable versions first, then beta, then alpha; the newest first."""
    text = version.removeprefix("v")
    for rank, word in enumerate(("beta", "alpha"), start=1):
        if word in text:
            major, _, minor = text.partition(word)
            return rank, -int(major or 0), -int(minor or 0)
    return 0, -int(text) if text.isdigit() else 0, 0


def _wants_aggregated(request: Request) -> bool:
    wanted = {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"}
    return any(
        wanted <= {piece.strip() for piece in part.split(";")}
        for part in request.headers.get("accept", "").split(",")
    )


def _classic(resource: ResourceType) -> JsonObject:
    found: JsonObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    return found


def _classic_subresource(resource: ResourceType, name: str) -> JsonObject:
    return {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(subresource_verbs(name)),
    }


def subresource_verbs(name: str) -> tuple[str, ...]:
    return {"log": ("get",), "finalize": ("update",)}.get(name, ("get", "patch", "update"))


def _discovered(resource: ResourceType) -> JsonObject:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    found: JsonObject = {
        "resource": resource.plural,
        "responseKind": kind,
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        found["shortNames"] = list(resource.short_names)
    if resource.categories:
        found["categories"] = list(resource.categories)
    if resource.subresources:
        found["subresources"] = [
            {"subresource": name, "responseKind": kind, "verbs": list(subresource_verbs(name))}
            for name in sorted(resource.subresources)
        ]
    return found
