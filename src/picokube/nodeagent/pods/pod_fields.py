"""Resolves `fieldRef` and `resourceFieldRef`. Pure."""

import os
import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any

Obj = Mapping[str, Any]

ADDRESS = "127.0.0.1"
"""Processes share the network of the host."""
_KEY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_UNITS = {
    "": Decimal(1), "m": Decimal("0.001"), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9),
    "T": Decimal(10**12), "P": Decimal(10**15), "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30),
    "Ti": Decimal(2**40), "Pi": Decimal(2**50),
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)")


class UnknownField(ValueError):
    """A field that is not supported in process mode."""


def pod_field(pod: Obj, path: str) -> str:
    meta, spec = pod["metadata"], pod["spec"]
    if match := _KEY.fullmatch(path):
        return str((meta.get(match[1]) or {}).get(match[2], ""))
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(meta[path.removeprefix("metadata.")])
        case "metadata.labels" | "metadata.annotations":
            values = meta.get(path.removeprefix("metadata.")) or {}
            return "\n".join(f'{key}="{_escape(value)}"' for key, value in sorted(values.items()))
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(spec.get(path.removeprefix("spec."), ""))
        case "status.hostIP" | "status.podIP" | "status.hostIPs" | "status.podIPs":
            return ADDRESS
        case _:
            raise UnknownField(f"fieldPath {path} is not supported in process mode")


def resource_field(container: Obj, reference: Obj) -> str:
    """A limit or request of a container. The default limit is the capacity of the host."""
    section, _, name = reference["resource"].partition(".")
    resources = container.get("resources") or {}
    value = (resources.get(section) or {}).get(name)
    if value is None and section == "requests":
        value = (resources.get("limits") or {}).get(name)
    if value is None:
        value = _host_capacity(name) if section == "limits" else "0"
    divisor = parse_quantity(str(reference.get("divisor") or "1")) or Decimal(1)
    return str((parse_quantity(str(value)) / divisor).to_integral_value(ROUND_CEILING))


def parse_quantity(text: str) -> Decimal:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        raise UnknownField(f"{text!r} is not a valid quantity")
    return Decimal(match[1]) * _UNITS[match[2]]


def _host_capacity(name: str) -> str:
    match name:
        case "cpu":
            return str(os.cpu_count() or 1)
        case "memory":
            return str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        case _:
            return "0"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
