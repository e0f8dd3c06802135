"""Which custom kinds are served: those of definitions that were given their names, the moment these are stored.

Decides on names and serves at once, in memory; `definition_life.py` writes down what was decided. After a start the
same is decided again, in the order in which the definitions were last written.
"""

from collections.abc import Callable
from dataclasses import replace

import orjson

from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.server_context import Heard, Serving
from picokube.apiserver.strategies.checks import Json
from picokube.apiserver.strategies.crd_conditions import CRDS
from picokube.apiserver.strategies.crd_names import (
    Taken,
    accepted_names,
    has_its_names,
    is_served,
    settled_status,
)

Types = Callable[[JsonObject], list[ResourceType]]
"""From a definition to the kinds it serves."""


class CustomResources:
    """Follows definitions."""

    def __init__(self, serving: Serving, types: Types) -> None:
        self._serving = serving
        self._types = types
        self._definitions: dict[str, JsonObject] = {}
        """As they should be: with the status that was decided."""
        self._served: dict[str, tuple[object, list[ResourceType]]] = {}
        self.unwritten: set[str] = set()
        """Definitions about which more was decided than is stored."""
        self.on_change: Callable[[str], None] = _no_one
        """Told of a definition that is unwritten or ending."""
        serving.listeners.append(self._hear)
        stored = [orjson.loads(item.data) for item in serving.store.list(CRDS).objects]
        self._definitions = {item["metadata"]["name"]: item for item in stored}
        for item in sorted(stored, key=_revision):
            self._decide(item)

    def decided_status(self, stored: Json) -> Json:
        """The status that a stored definition should have."""
        return settled_status(stored, self._taken(stored), self._serving.now())

    def is_ending(self, name: str) -> bool:
        """Whether a definition is about to go."""
        return _is_ending(self._definitions.get(name) or {})

    @property
    def unfinished(self) -> list[str]:
        """Definitions that someone should look at."""
        return [name for name in self._definitions if name in self.unwritten or self.is_ending(name)]

    def type_of(self, name: str) -> ResourceType:
        """A version of a kind, served or not."""
        definition = self._definitions[name]
        versions = [{**version, "served": True} for version in definition["spec"]["versions"]]
        return self._types({**definition, "spec": {**definition["spec"], "versions": versions}})[0]

    def _hear(self, heard: Heard) -> None:
        if heard.resource.qualified != CRDS:
            return
        name = heard.object["metadata"]["name"]
        before = self._definitions.pop(name, None)
        self.unwritten.discard(name)
        if heard.gone:
            self._served.pop(name, None)
            self._serving.registry.serve_custom(name, [])
        else:
            self._decide(heard.object)
        after = self._definitions.get(name)
        if before is not None and (after is None or accepted_names(after) != accepted_names(before)):
            self._reconsider(before["spec"]["group"], name)
        if name in self.unwritten or self.is_ending(name):
            self.on_change(name)

    def _decide(self, stored: JsonObject) -> None:
        """Give it what names there are, and serve it if it has them."""
        name = stored["metadata"]["name"]
        definition = {**stored, "status": self.decided_status(stored)}
        self._definitions[name] = definition
        if definition["status"] != stored.get("status"):
            self.unwritten.add(name)
        spec, names = definition["spec"], accepted_names(definition)
        shape = (stored["metadata"]["uid"], spec, names) if is_served(definition) else None
        ending = _is_ending(definition)
        known = self._served.get(name)
        if known is None or known[0] != shape:
            types: list[ResourceType] = []
            if shape is not None:
                since = _revision(stored)
                types = [
                    replace(item, schema_since=since)
                    for item in self._types({**definition, "spec": {**spec, "names": names}})
                ]
        elif any(item.is_ending is not ending for item in known[1]):
            types = known[1]
        else:
            return
        types = [replace(item, is_ending=ending) for item in types]
        self._served[name] = (shape, types)
        self._serving.registry.serve_custom(name, types)

    def _reconsider(self, group: str, name: str) -> None:
        """Names were set free: others of the group may have waited for them."""
        for definition in sorted(self._definitions.values(), key=_revision):
            other = definition["metadata"]["name"]
            if other != name and definition["spec"]["group"] == group and not has_its_names(definition):
                self._decide(definition)
                self.on_change(other)

    def _taken(self, definition: Json) -> Taken:
        group, name = definition["spec"]["group"], definition["metadata"]["name"]
        others = [
            item
            for item in self._definitions.values()
            if item["spec"]["group"] == group and item["metadata"]["name"] != name
        ]
        return Taken.by([*others, definition])


def _revision(definition: Json) -> int:
    return int(definition["metadata"]["resourceVersion"])


def _is_ending(definition: Json) -> bool:
    return bool((definition.get("metadata") or {}).get("deletionTimestamp"))


def _no_one(name: str) -> None:
    del name
