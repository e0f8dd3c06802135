"""Checks metadata with the API server's rules, which CRD schemas do not contain."""

import re
from collections.abc import Iterator
from typing import Any, Final

from jangar.api.meta import JsonObject
from jangar.domain.orchestration.message_text import Guesses, quoted
from jangar.lint.finding import Diagnostic
from jangar.lint.reasons import FileReason
from kubekit.dns_names import MAX_LABEL, MAX_SUBDOMAIN, SUBDOMAIN, is_dns_label, is_dns_subdomain

_QUALIFIED: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_MAX_ANNOTATIONS: Final = 256 * 1024

_TYPES: Final[dict[str, type]] = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "labels": dict,
    "annotations": dict,
    "finalizers": list,
    "ownerReferences": list,
    "managedFields": list,
    "resourceVersion": str,
    "uid": str,
    "creationTimestamp": str,
    "deletionTimestamp": str,
    "deletionGracePeriodSeconds": int,
    "generation": int,
    "selfLink": str,
}
_TYPE_NAMES: Final = {str: "text", dict: "an object", list: "a list", int: "a whole number"}
_NAME_RULE: Final = "use lower-case letters, digits, - and ., beginning and ending with a letter or digit"


def metadata_diagnostics(value: JsonObject) -> Iterator[Diagnostic]:
    """All problems of an object's metadata."""
    metadata = value.get("metadata")
    if metadata is None:
        yield _diagnostic((), "metadata is missing", "add metadata.name")
        return
    if not isinstance(metadata, dict):
        yield _diagnostic(("metadata",), "must be an object", "write metadata: {name: ...}")
        return
    wrong = {key for key, found in metadata.items() if not _has_type(key, found)}
    yield from _shape_diagnostics(metadata, wrong)
    right = {key: found for key, found in metadata.items() if key not in wrong and found is not None}
    yield from _name_diagnostics(right, given=set(metadata))
    yield from _text_map_diagnostics("labels", right.get("labels", {}))
    yield from _label_diagnostics(right.get("labels", {}))
    yield from _text_map_diagnostics("annotations", right.get("annotations", {}))


def _has_type(key: str, found: Any) -> bool:
    wanted = _TYPES.get(key)
    return wanted is None or found is None or (isinstance(found, wanted) and not isinstance(found, bool))


def _shape_diagnostics(metadata: JsonObject, wrong: set[str]) -> Iterator[Diagnostic]:
    guesses = Guesses(_TYPES)
    for key in metadata:
        if key not in _TYPES:
            yield Diagnostic(
                path=("metadata", key),
                reason=FileReason.UNKNOWN_FIELD,
                message=f"unknown field {quoted(key)}",
                fix=guesses.fix(key, otherwise="remove it"),
            )
        elif key in wrong:
            fix = "quote it to make it text" if _TYPES[key] is str else ""
            yield _diagnostic(("metadata", key), f"must be {_TYPE_NAMES[_TYPES[key]]}", fix)


def _name_diagnostics(metadata: JsonObject, given: set[str]) -> Iterator[Diagnostic]:
    name, prefix = metadata.get("name"), metadata.get("generateName")
    if not name and not prefix and not given & {"name", "generateName"}:
        yield _diagnostic(("metadata",), "the object has no name", "add metadata.name")
    elif name == "":
        yield _diagnostic(("metadata", "name"), "the name is empty", "give the object a name")
    if name and not is_dns_subdomain(name):
        yield _diagnostic(
            ("metadata", "name"), f"{quoted(name)} cannot be a name{_length(name, MAX_SUBDOMAIN)}", _NAME_RULE
        )
    if prefix and not SUBDOMAIN.fullmatch(f"{prefix}x"):
        yield _diagnostic(("metadata", "generateName"), f"{quoted(prefix)} cannot begin a name", _NAME_RULE)
    space = metadata.get("namespace")
    if space and not is_dns_label(space):
        yield _diagnostic(
            ("metadata", "namespace"),
            f"{quoted(space)} cannot be a namespace{_length(space, MAX_LABEL)}",
            "use lower-case letters, digits and -, beginning and ending with a letter or digit",
        )


def _text_map_diagnostics(part: str, held: dict[str, Any]) -> Iterator[Diagnostic]:
    for key, found in held.items():
        if not isinstance(found, str):
            yield _diagnostic(("metadata", part, key), "the value must be text", "quote it to make it text")
        prefix, slash, name = key.rpartition("/")
        bad_prefix = slash and not is_dns_subdomain(prefix)
        if bad_prefix or len(name) > MAX_LABEL or not _QUALIFIED.fullmatch(name):
            yield _diagnostic(
                ("metadata", part, key),
                f"{quoted(key)} cannot be a key of {part}",
                "use letters, digits, -, _ and ., at most 63, after an optional domain and /",
            )
    if (
        part == "annotations"
        and sum(len(key) + len(str(found)) for key, found in held.items()) > _MAX_ANNOTATIONS
    ):
        yield _diagnostic(("metadata", part), "annotations are larger than 256 KiB", "remove some")


def _label_diagnostics(labels: dict[str, Any]) -> Iterator[Diagnostic]:
    for key, found in labels.items():
        if isinstance(found, str) and found and (len(found) > MAX_LABEL or not _QUALIFIED.fullmatch(found)):
            yield _diagnostic(
                ("metadata", "labels", key),
                f"{quoted(found)} cannot be a label's value{_length(found, MAX_LABEL)}",
                "use letters, digits, -, _ and ., beginning and ending with a letter or digit",
            )


def _length(text: str, limit: int) -> str:
    return f": {len(text)} characters are more than {limit}" if len(text) > limit else ""


def _diagnostic(path: tuple[str | int, ...], message: str, fix: str) -> Diagnostic:
    return Diagnostic(path=path, reason=FileReason.INVALID_METADATA, message=message, fix=fix)
