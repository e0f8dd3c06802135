"""Discovery: aggregated and classic documents of the served kinds, and the version."""

import base64
import hashlib
from collections import defaultdict

import orjson

from picokube.apiserver.kinds.names import version_order
from picokube.apiserver.kinds.resources import (
    Registry,
    ResourceType,
    ordered_subresources,
    subresource_kind,
    subresource_verbs,
)
from picokube.apiserver.protocol.messages import JsonObject, Request, Response, json_response, unchanged

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order in which a real server lists them for custom kinds."""
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
_STORED_VERSIONS = {"customresourcedefinitions.apiextensions.k8s.io": "v1beta1"}
"""Built-in kinds that a real server stores in another version than this one."""


class Discovery:
    """Answers about the table of kinds."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._made: dict[bool, Response] = {}
        self._generation = -1

    def answer(self, request: Request) -> Response | None:
        """The document that a path names, or None."""
        parts = [part for part in request.path.split("/") if part]
        match parts:
            case ["version"]:
                return json_response(VERSION)
            case ["api"] | ["apis"] if _wants_aggregated(request):
                return _unless_known(request, self._aggregated(core=parts == ["api"]))
            case ["api"]:
                return json_response(_core_versions(request))
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
        for item in self._registry:
            if item.version not in found[item.group]:
                found[item.group].append(item.version)
        return {group: sorted(versions, key=version_order) for group, versions in found.items()}

    def _group(self, name: str) -> JsonObject:
        versions = [
            {"groupVersion": f"{name}/{version}", "version": version} for version in self._groups()[name]
        ]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def _resource_list(self, group: str, version: str) -> JsonObject:
        resources: list[JsonObject] = []
        for item in self._of(group, version):
            resources.append(_classic(item))
            names = ordered_subresources(item.subresources, is_custom=item.is_custom)
            resources += [_classic_subresource(item, name) for name in names]
        # The oldest group was there before lists of its resources had a version.
        typed = {"kind": "APIResourceList"} | ({"apiVersion": "v1"} if group else {})
        return typed | {
            "groupVersion": f"{group}/{version}" if group else version,
            "resources": resources,
        }

    def _of(self, group: str, version: str) -> list[ResourceType]:
        found = [item for item in self._registry if (item.group, item.version) == (group, version)]
        return sorted(found, key=lambda item: item.plural)

    def _aggregated(self, *, core: bool) -> Response:
        if self._generation != self._registry.generation:
            self._made.clear()
            self._generation = self._registry.generation
        if core not in self._made:
            self._made[core] = self._aggregate(core=core)
        return self._made[core]

    def _aggregate(self, *, core: bool) -> Response:
        items = [
            {
                "metadata": {"name": group} if group else {},
                "versions": [
                    {
                        "version": version,
                        "resources": [_discovered(item) for item in self._of(group, version)],
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


def _wants_aggregated(request: Request) -> bool:
    wanted = {"g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"}
    return any(
        wanted <= {piece.strip() for piece in part.split(";")}
        for part in request.headers.get("accept", "").split(",")
    )


def _unless_known(request: Request, response: Response) -> Response:
    """Nothing but its tag, if the client has the document already."""
    if request.headers.get("if-none-match") == dict(response.headers)["ETag"]:
        return unchanged(response.headers)
    return response


def _core_versions(request: Request) -> JsonObject:
    """The server's address is the one by which it was reached."""
    address = {"clientCIDR": "0.0.0.0/0", "serverAddress": request.headers.get("host", "")}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [address]}


def _verbs(resource: ResourceType) -> list[str]:
    return list(CUSTOM_VERBS if resource.is_custom else resource.verbs)


def _classic(resource: ResourceType) -> JsonObject:
    found: JsonObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(resource),
    }
    found |= _names(resource)
    if "list" in resource.verbs:
        found["storageVersionHash"] = _storage_hash(resource)
    return found


def _names(resource: ResourceType) -> JsonObject:
    lists = {"shortNames": resource.short_names, "categories": resource.categories}
    return {name: list(values) for name, values in lists.items() if values}


def _storage_hash(resource: ResourceType) -> str:
    """Names the group, version and kind in which objects are stored: all versions of a kind have the same."""
    version = resource.stored_version or _STORED_VERSIONS.get(resource.qualified, resource.version)
    text = f"{resource.stored_group}/{version}/{resource.kind}"
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _classic_subresource(resource: ResourceType, name: str) -> JsonObject:
    found: JsonObject = {
        "name": f"{resource.plural}/{name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(subresource_verbs(name)),
    }
    own = subresource_kind(name)
    names = zip(("group", "version", "kind"), own or (), strict=False)
    return found | {field: value for field, value in names if value}


def _discovered(resource: ResourceType) -> JsonObject:
    found: JsonObject = {
        "resource": resource.plural,
        "responseKind": _response_kind(resource),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": _verbs(resource),
    }
    found |= _names(resource)
    if resource.subresources:
        found["subresources"] = [
            {
                "subresource": name,
                "responseKind": _response_kind(resource, subresource_kind(name)),
                "verbs": list(subresource_verbs(name)),
            }
            for name in ordered_subresources(resource.subresources, is_custom=resource.is_custom)
        ]
    return found


def _response_kind(resource: ResourceType, own: tuple[str, str, str] | None = None) -> JsonObject:
    """For a built-in kind empty group and version mean those of the document around it."""
    if own is not None:
        return dict(zip(("group", "version", "kind"), own, strict=True))
    group, version = (resource.group, resource.version) if resource.is_custom else ("", "")
    return {"group": group, "version": version, "kind": resource.kind}
