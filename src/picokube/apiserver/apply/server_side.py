"""Server-side apply: sets the fields that a manager applies, or reports who owns them. Pure; time is an argument.

ApplyConflict    fields that others own would change
ApplyTypeError   the configuration, or the live object, does not fit the schema of the kind
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import orjson

from picokube.apiserver.apply.comparison import Comparison, compare, identical, merged, without_items
from picokube.apiserver.apply.fieldset import (
    EMPTY,
    FieldSet,
    contains,
    difference,
    intersection,
    json_text,
    paths,
    union,
    without_subtrees,
)
from picokube.apiserver.apply.managed_fields import (
    APPLY,
    STRIPPED,
    UPDATE,
    Identity,
    Managers,
    Owned,
    after_update,
    bare,
    conversion_problem,
    deep_copied,
    empty_object,
    lost,
    managed_fields_of,
    read_managers,
    reset_fields,
)
from picokube.apiserver.apply.merge_schema import MergeType, merge_type, with_zero_fields, without_null_fields
from picokube.apiserver.apply.typed_paths import (
    UnkeyedItem,
    field_set,
    fitting,
    type_problems,
    with_named_fields,
)
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.protocol.messages import JsonObject

KUBECTL = "kubectl"
ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

_MAX_ANNOTATIONS = 256 * 1024


def client_side_fields(kind: MergeType, api_version: str, live: dict[str, Any]) -> FieldSet:
    """Fields that client-side apply set and that are unchanged since: kubectl may take them over from any manager.

    Nothing, if either object does not fit its type; items that are there twice do not.
    """
    text = _annotations(live).get(ANNOTATION)
    try:
        last = orjson.loads(text) if isinstance(text, str) and text else None
    except ValueError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != api_version:
        return {}
    if type_problems(kind, last) or type_problems(kind, live):
        return {}
    try:
        change = compare(kind, last, live)
    except UnkeyedItem:
        return {}
    return difference(difference(field_set(kind, last), change.taken), change.removed)


def with_last_applied(obj: dict[str, Any], config: dict[str, Any]) -> dict[str, Any]:
    """The object with its annotation brought up to date, if it has one."""
    annotations = _annotations(obj)
    if not annotations.get(ANNOTATION):
        return obj
    updated = annotations | {ANNOTATION: _text_of(config)}
    if (
        sum(len(name.encode()) + len(str(value).encode()) for name, value in updated.items())
        > _MAX_ANNOTATIONS
    ):
        del updated[ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": updated}}


def _text_of(config: dict[str, Any]) -> str:
    meta = config["metadata"]
    annotations = meta.get("annotations")
    if isinstance(annotations, dict) and ANNOTATION in annotations:
        others = {name: value for name, value in annotations.items() if name != ANNOTATION}
        config = {**config, "metadata": {**meta, "annotations": others}}
    return json_text(_whole_floats_as_integers(config)) + "\n"


def _whole_floats_as_integers(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole_floats_as_integers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole_floats_as_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _annotations(obj: dict[str, Any]) -> dict[str, Any]:
    found = (obj.get("metadata") or {}).get("annotations")
    return found if isinstance(found, dict) else {}


BEFORE_FIRST_APPLY = "before-first-apply"

_CONTAINERS = (dict, list)


class ApplyConflict(Exception):
    """Others own fields that this would change. `causes` are those of a Status."""

    def __init__(self, message: str, causes: list[dict[str, str]]) -> None:
        super().__init__(message)
        self.message, self.causes = message, causes

    @classmethod
    def with_managers(cls, conflicts: Sequence[tuple[Identity, FieldSet]]) -> "ApplyConflict":
        """The conflict with these managers over these fields; in order."""
        found = [(identity, path) for identity, fields in conflicts for path in paths(fields)]
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {identity}", "field": path}
            for identity, path in found
        ]
        if len(found) == 1:
            identity, path = found[0]
            return cls(f"Apply failed with 1 conflict: conflict with {identity}: {path}", causes)
        lines = [
            line
            for identity, fields in conflicts
            for line in (f"conflicts with {identity}:", *(f"- {path}" for path in paths(fields)))
        ]
        return cls(f"Apply failed with {len(found)} conflicts: " + "\n".join(lines), causes)


class ApplyTypeError(Exception):
    """Something does not fit the schema. Answered with 500."""


def server_side_apply(
    resource: ResourceType,
    live: JsonObject | None,
    config: JsonObject,
    *,
    manager: str,
    force: bool,
    subresource: str,
    now: str,
    reset: FieldSet | None = None,
) -> JsonObject:
    """The live object (None: there is none yet) as it is after a manager applied its configuration."""
    kind = merge_type(resource)
    problems = type_problems(kind, config)
    if problems:
        raise ApplyTypeError(f"failed to create typed patch object ({named(resource, config)}): {problems}")
    request = _Request(resource, kind, deep_copied(config), manager, subresource, now, reset)
    structs = merge_type(resource, structs=True)
    before = bare(live) if live is not None else empty_object(resource)
    if not resource.is_custom:
        before = with_zero_fields(structs, before)
    try:
        managers = request.starting_managers(live, structs)
        result = request.applied(before, managers, force=force)
    except UnkeyedItem as error:
        raise ApplyTypeError(
            f"failed to create typed live object ({named(resource, before)}): {error}"
        ) from error
    return result if resource.is_custom else without_null_fields(structs, result)


def named(resource: ResourceType, obj: JsonObject) -> str:
    """An object as refusals name it."""
    meta = obj.get("metadata") or {}
    group_version = f"{resource.group}/{resource.version}"
    return f"{meta.get('namespace') or ''}/{meta.get('name') or ''}; {group_version}, Kind={resource.kind}"


class _Request:
    """One apply of one configuration."""

    def __init__(
        self,
        resource: ResourceType,
        kind: MergeType,
        config: JsonObject,
        manager: str,
        subresource: str,
        now: str,
        reset: FieldSet | None,
    ) -> None:
        self.resource, self.kind, self.config, self.now = resource, kind, config, now
        self.applier = Identity.of(manager, APPLY, resource.api_version, subresource)
        self.ignored = reset_fields(resource, subresource) if reset is None else reset

    def starting_managers(self, live: JsonObject | None, structs: MergeType) -> Managers:
        """The current managers. Fields of an object that was never tracked belong to "before-first-apply"."""
        managers = read_managers((live or {}).get("metadata", {}).get("managedFields"), trusted=True)
        if managers or live is None:
            return managers
        change = compare(structs, empty_object(self.resource), bare(live))
        api_version, subresource = self.resource.api_version, self.applier.subresource
        writer = Identity.of(BEFORE_FIRST_APPLY, UPDATE, api_version, subresource)
        return after_update(self.resource, self.kind, managers, change, self.ignored, writer, self.now)

    def applied(self, before: JsonObject, managers: Managers, *, force: bool) -> JsonObject:
        """The new object with its managers."""
        last = managers.get(self.applier)
        wanted = without_subtrees(field_set(self.kind, self.config), self.ignored)
        after = merged(self.kind, before, self.config)
        own = Owned(fields=wanted, api_version=self.resource.api_version, time=last.time if last else None)
        managers = {**managers, self.applier: own}
        if last is not None:
            after = self._pruned(after, managers, fitting(self.kind, last.fields))
        if problem := conversion_problem(self.resource, managers, before, after):
            raise ApplyTypeError(problem)
        change = compare(self.kind, before, after)
        seen = change.without(self.ignored)
        if change and not force:
            self._refuse_conflicts(before, managers, seen)
        managers = lost(self.resource, self.kind, managers, change, seen, but=self.applier)
        return self._result(before, after, managers, last)

    def _refuse_conflicts(self, before: JsonObject, managers: Managers, seen: Comparison) -> None:
        taken = seen.taken
        found = {
            identity: intersection(owned.fields, taken)
            for identity, owned in managers.items()
            if identity != self.applier
        }
        if self.applier.manager == KUBECTL and any(found.values()):
            allowed = client_side_fields(self.kind, self.resource.api_version, before)
            found = {identity: difference(fields, allowed) for identity, fields in found.items()}
        conflicts = [(identity, fields) for identity, fields in found.items() if fields]
        if conflicts:
            raise ApplyConflict.with_managers(sorted(conflicts, key=lambda item: item[0].sort_text()))

    def _result(
        self, before: JsonObject, after: JsonObject, managers: Managers, last: Owned | None
    ) -> JsonObject:
        own = managers.pop(self.applier)
        fields = difference(own.fields, STRIPPED)
        if fields:
            same = last is not None and last.fields == fields and last.api_version == own.api_version
            owned = last if same and last is not None else replace(own, fields=fields)
            if after is not before and not identical(before, after):
                owned = replace(owned, time=self.now, stored=None)
            managers[self.applier] = owned
        meta = dict(after.get("metadata") or {})
        entries = managed_fields_of(managers)
        if entries:
            meta["managedFields"] = entries
        result = {**after, "metadata": meta}
        return with_last_applied(result, self.config) if self.applier.manager == KUBECTL else result

    def _pruned(self, after: JsonObject, managers: Managers, last: FieldSet) -> Any:
        """Without fields that this manager applied before, does not apply now, and no other manager owns."""
        kind = self.kind
        if contains(managers[self.applier].fields, last) and not _has_empty(self.config):
            return after
        owned: FieldSet = EMPTY
        for manager in managers.values():
            owned = union(owned, manager.fields)
        last = with_named_fields(kind, last)
        everything = with_named_fields(kind, field_set(kind, after))
        left = self._paths(without_items(kind, after, last))
        kept = union(left, with_named_fields(kind, owned))
        left = self._paths(without_items(kind, after, difference(everything, kept)))
        return without_items(kind, after, intersection(difference(everything, left), last))

    def _paths(self, value: Any) -> FieldSet:
        return with_named_fields(self.kind, field_set(self.kind, value)) if value else EMPTY


def _has_empty(value: Any) -> bool:
    """Whether there is a null or an empty object anywhere."""
    if type(value) is dict:
        return not value or any(_is_or_has_empty(item) for item in value.values())
    return any(_is_or_has_empty(item) for item in value)


def _is_or_has_empty(value: Any) -> bool:
    return value is None or (type(value) in _CONTAINERS and _has_empty(value))
