"""The bound of every string, list and map that users write, where its type says none. Knows field names, no kind.

The API server refuses what is larger, and nothing larger reaches a controller. The bounds are generous: an object has
1.5 MB at most anyway, and what costs more than its size to evaluate has a bound of its own.
"""

from typing import Final

from jangar.api.meta import JsonObject

MAX_ITEMS: Final = 1_000
MAX_PROPERTIES: Final = 1_000
MAX_NAME: Final = 253
MAX_LINE: Final = 4_096
MAX_TEXT: Final = 262_144
MAX_QUANTITY: Final = 64

_ITEMS: Final = {"dependsOn": 10_000, "secrets": 200, "volumes": 200}
_NAMES: Final = frozenset(
    {
        "name", "namespace", "kind", "key", "channel", "serviceAccount", "serviceAccountName", "secretName",
        "claimName", "entrypoint", "policyRef", "deliveryId", "dependsOn", "secrets", "fromStep", "uid", "timezone",
        "apiVersion", "sizeLimit", "size", "medium", "mode", "cron", "idempotencyKey",
    }
)  # fmt: skip
_TEXTS: Final = frozenset(
    {
        "args", "argsTemplate", "bodyTemplate", "command", "content", "default", "description", "enum", "env",
        "envTemplate", "objectives", "parameters", "payload", "sourceDesign", "value", "with",
    }
)  # fmt: skip


def bounded(node: JsonObject, field: str = "") -> JsonObject:
    """The schema with a bound on everything that has none; `field` is the nearest name around the node."""
    found = dict(node)
    if "x-kubernetes-int-or-string" in node:
        found.setdefault("maxLength", MAX_QUANTITY)
    match node.get("type"):
        case "string" if "enum" not in node and node.get("format") != "date-time":
            found.setdefault("maxLength", _longest(field))
        case "array":
            found.setdefault("maxItems", _ITEMS.get(field, MAX_ITEMS))
            found["items"] = bounded(node["items"], field)
        case "object":
            if "additionalProperties" in node:
                found["additionalProperties"] = bounded(node["additionalProperties"], field)
            if "additionalProperties" in node or "x-kubernetes-preserve-unknown-fields" in node:
                found.setdefault("maxProperties", MAX_PROPERTIES)
            if "properties" in node:
                found["properties"] = {name: bounded(item, name) for name, item in node["properties"].items()}
    return found


def _longest(field: str) -> int:
    return MAX_TEXT if field in _TEXTS else MAX_NAME if field in _NAMES else MAX_LINE
