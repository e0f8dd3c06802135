"""The built-in kinds: generated facts (names, columns, schemas) joined with what each kind does itself."""

from typing import Any

from picokube.apiserver.access import Access
from picokube.apiserver.builtin_data import kinds, lazy_schema
from picokube.apiserver.escalation import guard_of
from picokube.apiserver.resources import ResourceType, TableColumn
from picokube.apiserver.strategies.pod import Find
from picokube.apiserver.strategies.reviews import Lookup
from picokube.apiserver.strategies.table import Behavior, behavior_of


def built_in_types(
    find: Find | None = None, lookup: Lookup | None = None, access: Access | None = None
) -> list[ResourceType]:
    """Every built-in kind. Schemas are read when they are first looked at.

    `find` gives stored objects, for kinds that refer to others: a pod to its account and its priority class.
    `lookup` tells whose a token is and `access` who may do what, for reviews and roles. Without them references are
    taken to be good, tokens bad, and nobody may do anything.
    """
    return [_type(row, behavior_of(row, find, lookup, access), access) for row in kinds().values()]


def _type(row: dict[str, Any], behavior: Behavior, access: Access | None) -> ResourceType:
    return ResourceType(
        group=row["group"],
        version=row["version"],
        kind=row["kind"],
        plural=row["plural"],
        singular=row["singular"],
        namespaced=row["namespaced"],
        short_names=tuple(row["shortNames"]),
        categories=tuple(row["categories"]),
        verbs=tuple(row["verbs"]),
        subresources=frozenset(row["subresources"]),
        strategy=behavior.strategy,
        schema=lazy_schema(row["definition"]),
        columns=tuple(
            _column(column) for column in row["columns"] if column["name"] != "Name" or column["priority"]
        ),
        has_generation=behavior.has_generation,
        selectable_fields=behavior.selectable_fields,
        name_problems=behavior.name_problems,
        unconditional_update=behavior.unconditional_update,
        create_on_update=behavior.create_on_update,
        grace_seconds=behavior.grace_seconds,
        stored_as=behavior.stored_as,
        stored_version=behavior.stored_version,
        scale=behavior.scale,
        orphans_by_default=behavior.orphans_by_default,
        review=behavior.review,
        guard=guard_of(row["kind"], access) if access else None,
    )


def _column(row: dict[str, Any]) -> TableColumn:
    return TableColumn(
        name=row["name"],
        type=row["type"],
        format=row["format"],
        description=row["description"],
        priority=row["priority"],
    )
