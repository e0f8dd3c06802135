"""Fields of a pod that its containers may read: `fieldRef` and `resourceFieldRef`. Pure."""

import os
import re
from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any

Obj = Mapping[str, Any]

ADDRESS = "127.0.0.1"
"""Processes share the addresses of the machine."""
_KEY = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_UNITS = {
    "": Decimal(1), "m": Decimal("0.001"), "k": Decimal(10**3), "M": Decimal(10**6), "G": Decimal(10**9),
    "T": Decimal(10**12), "P": Decimal(10**15), "Ki": Decimal(2**10), "Mi": Decimal(2**20), "Gi": Decimal(2**30),
    "Ti": Decimal(2**40), "Pi": Decimal(2**50),
}  # fmt: skip
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)")


class UnknownField(ValueError):
    """A field that containers cannot read here."""


def pod_field(pod: Obj, path: str) -> str:
    meta, spec = pod["metadata"], pod["spec"]
    if found := _KEY.fullmatch(path):
        return str((meta.get(found[1]) or {}).get(found[2], ""))
    match path:
        case "metadata.name" | "metadata.namespace" | "metadata.uid":
            return str(meta[path.removeprefix("metadata.")])
        case "metadata.labels" | "metadata.annotations":
            values = meta.get(path.removeprefix("metadata.")) or {}
            return "\n".join(f'{key}="{_escaped(value)}"' for key, value in sorted(values.items()))
        case "spec.nodeName" | "spec.serviceAccountName":
            return str(spec.get(path.removeprefix("spec."), ""))
        case "status.hostIP" | "status.podIP" | "status.hostIPs" | "status.podIPs":
            return ADDRESS
        case _:
            raise UnknownField(f"fieldPath {path}: not supported in process mode")


def resource_field(container: Obj, reference: Obj) -> str:
    """A limit or request of a container; a limit that is not set is what the machine has."""
    section, _, name = reference["resource"].partition(".")
    resources = container.get("resources") or {}
    stated = (resources.get(section) or {}).get(name)
    if stated is None and section == "requests":
        stated = (resources.get("limits") or {}).get(name)
    if stated is None:
        stated = _of_machine(name) if section == "limits" else "0"
    divisor = quantity(str(reference.get("divisor") or "1")) or Decimal(1)
    return str((quantity(str(stated)) / divisor).to_integral_value(ROUND_CEILING))


def quantity(text: str) -> Decimal:
    found = _QUANTITY.fullmatch(text)
    if found is None or found[2] not in _UNITS:
        raise UnknownField(f"{text!r} is no quantity")
    return Decimal(found[1]) * _UNITS[found[2]]


def _of_machine(name: str) -> str:
    match name:
        case "cpu":
            return str(os.cpu_count() or 1)
        case "memory":
            return str(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        case _:
            return "0"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
