"""Redacts Secret values from log tails: finds the Secrets that a pod references and masks their values. Pure."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kubekit.redaction import Redactor


class SecretReference(NamedTuple):
    """A Secret that a pod gets."""

    name: str
    is_optional: bool


def referenced_secrets(pod: Mapping[str, Any]) -> list[SecretReference]:
    """The Secrets that the pod's containers see, as variables or files; image pull secrets they do not."""
    found: dict[str, bool] = {}
    for name, is_optional in _references(pod.get("spec") or {}):
        found[name] = found.get(name, True) and is_optional
    return [SecretReference(*item) for item in found.items()]


def _references(spec: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        for variable in container.get("env") or ():
            yield from _named((variable.get("valueFrom") or {}).get("secretKeyRef"))
        for source in container.get("envFrom") or ():
            yield from _named(source.get("secretRef"))
    for volume in spec.get("volumes") or ():
        yield from _named(volume.get("secret"), "secretName")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from _named(source.get("secret"))


def _named(reference: Mapping[str, Any] | None, key: str = "name") -> Iterator[tuple[str, bool]]:
    if reference and reference.get(key):
        yield reference[key], bool(reference.get("optional"))


def secret_values(secret: Mapping[str, Any]) -> list[bytes]:
    """What the Secret holds."""
    return [base64.b64decode(item) for item in (secret.get("data") or {}).values()]


def masked(text: bytes, values: Iterable[bytes]) -> bytes:
    """The text with every value, in the forms that programs write values in, made unreadable.

    A text that is the end of a longer one may begin within a value, and one that was cut may end within it.
    """
    return Redactor(values).redact_cut(text)
