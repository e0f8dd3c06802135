"""The schema of ObjectMeta."""

from collections.abc import Mapping
from typing import Final

from picokube.schema.node import Node

_ANY: Final = Node()


def _of(names: str, **others: Node) -> Node:
    fields: Mapping[str, Node] = {**dict.fromkeys(names.split(), _ANY), **others}
    return Node(type="object", properties=fields)


_TEXTS: Final = Node(type="object", additional=_ANY, has_additional=True)
_OPEN: Final = Node(type="object", preserves_unknown=True)
_OWNER: Final = _of("apiVersion kind name uid controller blockOwnerDeletion")
_MANAGED: Final = _of("manager operation apiVersion time fieldsType subresource", fieldsV1=_OPEN)
OBJECT_META: Final = _of(
    "name generateName namespace selfLink uid resourceVersion generation creationTimestamp deletionTimestamp "
    "deletionGracePeriodSeconds finalizers",
    labels=_TEXTS,
    annotations=_TEXTS,
    ownerReferences=Node(type="array", items=_OWNER),
    managedFields=Node(type="array", items=_MANAGED),
)
