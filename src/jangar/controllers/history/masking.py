"""What work was told in secret is not to be read in its log: which Secrets those are, the text without them. Pure."""

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import quote, quote_plus

MASK: Final = b"***"
LEAST: Final = 4
"""Shorter values are not masked: they are in every text."""
LEAST_WITHIN: Final = 8
"""Of base64: shorter ones are found in many a word."""
_ESCAPED: Final = re.compile(r"%[0-9A-F]{2}")


class SecretReference(NamedTuple):
    """A Secret that a pod gets."""

    name: str
    is_optional: bool


def referenced_secrets(pod: Mapping[str, Any]) -> list[SecretReference]:
    """The Secrets that the pod's containers see, as variables or files; image pull secrets they do not."""
    found: dict[str, bool] = {}
    for name, is_optional in _references(pod.get("spec") or {}):
        found[name] = found.get(name, True) and is_optional
    return [SecretReference(*each) for each in found.items()]


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
    return [base64.b64decode(each) for each in (secret.get("data") or {}).values()]


def masked(text: bytes, values: Iterable[bytes]) -> bytes:
    """The text with every value, in the forms that programs write values in, made unreadable.

    A text that is the end of a longer one may begin within a value, and one that was cut may end within it.
    """
    forms = sorted({form for value in values for form in _forms(value)}, key=len, reverse=True)
    for form in forms:
        text = text.replace(form, MASK)
    for form in forms:
        text = _without_edges(text, form)
    return text


def _forms(value: bytes) -> Iterator[bytes]:
    lines = [line.strip() for line in value.splitlines()]
    for part in {value, value.strip(), *(lines if len(lines) > 1 else ())}:
        for form in _written(part):
            if len(form) >= LEAST:
                yield form


def _written(value: bytes) -> Iterator[bytes]:
    yield value
    for quoted in (quote(value, safe=""), quote(value), quote_plus(value)):
        yield quoted.encode()
        yield _ESCAPED.sub(lambda found: found[0].lower(), quoted).encode()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(value).rstrip(b"=")
        yield from _within(value, encode)
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return
    yield json.dumps(text)[1:-1].encode()
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _within(value: bytes, encode: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """As it looks within something longer, such as `user:password`: what the bytes beside it do not change."""
    for before, first in enumerate((0, 2, 3)):
        form = encode(bytes(before) + value)[first : (before + len(value)) * 8 // 6]
        if len(form) >= LEAST_WITHIN:
            yield form


def _without_edges(text: bytes, form: bytes) -> bytes:
    for size in range(min(len(form) - 1, len(text)), LEAST - 1, -1):
        if text.startswith(form[-size:]):
            text = MASK + text[size:]
            break
    for size in range(min(len(form) - 1, len(text)), LEAST - 1, -1):
        if text.endswith(form[:size]):
            text = text[:-size] + MASK
            break
    return text
