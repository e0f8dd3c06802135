"""The built-in kinds: generated facts (names, columns, schemas) joined with what each kind does itself."""

from typing import Any

from picokube.apiserver.access import Access
from picokube.apiserver.builtin_data import kinds, lazy_schema
from picokube.apiserver.escalation import guard_of
from picokube.apiserver.resources import ResourceType, TableColumn
from picokube.apiserver.strategies.pod import Find
from picokube.apiserver.strategies.reviews import Lookup
from picokube.apiserver.strategies.table import Behaviour, behaviour_of


def built_in_types(
    find: Find | None = None, lookup: Lookup | None = None, access: Access | None = None
) -> list[ResourceType]:
    """Every built-in kind. Schemas are read when they are first looked at.

    `find` gives stored objects, for kinds that refer to others: a pod to its account and its priority class.
    `lookup` tells whose a token is and `access` who may do what, for reviews and roles. Without them references are
    taken to be good, tokens bad, and nobody may do anything.
    """
    return [_type(row, behaviour_of(row, find, lookup, access), access) for row in kinds().values()]


def _type(row: dict[str, Any], behaviour: Behaviour, access: Access | None) -> ResourceType:
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
        strategy=behaviour.strategy,
        schema=lazy_schema(row["definition"]),
        columns=tuple(_column(each) for each in row["columns"] if each["name"] != "Name" or each["priority"]),
        has_generation=behaviour.has_generation,
        selectable_fields=behaviour.selectable_fields,
        name_problems=behaviour.name_problems,
        unconditional_update=behaviour.unconditional_update,
        create_on_update=behaviour.create_on_update,
        grace_seconds=behaviour.grace_seconds,
        stored_as=behaviour.stored_as,
        stored_version=behaviour.stored_version,
        scale=behaviour.scale,
        orphans_by_default=behaviour.orphans_by_default,
        review=behaviour.review,
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
