"""Normalizes the record of a case: values that differ between two runs are replaced by placeholders.

uids            uid-1, uid-2, ... in order of appearance
resourceVersion rv-1, rv-2, ... in their numeric order; a list, table or bookmark: `>=rv-N`, the newest it includes
times           <time>, <microtime>, unless the case sent that very text
names           a generated suffix is <random-1>, ...
causes          schema errors of custom resources are sorted; all other lists are compared in order
the rest        continue tokens, cluster addresses and ports, ages in tables, the case's namespace ({ns})

The order of managedFields is checked here against the server's own rule (operation, second, manager, version,
subresource), and then made independent of the second of each write.
"""

import json
import re
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from contract.kubernetes_api.session import Step

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
MICRO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z(?!\d)")
AGE = re.compile(r"(\d+[dhms]){1,2}")
REVISION_IN_TEXT = re.compile(
    r'(ResourceVersion in (?:the )?(?:precondition|record) \(|resourceVersion\\*": ?\\*")(\d+)'
)
OBJECT_IN_TEXT = re.compile(r'"(\{(?:[^"\\]|\\.)*\})"')
TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")
IN_TEXT = (
    (re.compile(r"(too old resource version: )\d+ \(\d+\)"), r"\1<old> (<oldest>)"),
    (re.compile(r"(Too large resource version: )(\d+), current: \d+"), r"\1\2, current: <current>"),
    (re.compile(r"kube-api-access-[a-z0-9]{5}"), "kube-api-access-<random>"),
    (re.compile(r"([?&]continue=)[^&]+"), r"\1<continue>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "<address>"),
)
BY_FIELD = {
    "clusterIP": "<clusterIP>",
    "clusterIPs": "<clusterIPs>",
    "nodePort": "<nodePort>",
    "healthCheckNodePort": "<nodePort>",
}
LIST_KINDS = ("List", "Table")


def comparable(steps: list[Step], namespace: str) -> list[dict[str, Any]]:
    """The steps of a case as stored in a transcript."""
    words = _Words(steps, namespace)
    return [words.step(step) for step in steps if step.is_kept]


def as_text(case: str, steps: list[dict[str, Any]]) -> str:
    """A transcript file: one request, header or body field per line, so that diffs are readable."""
    return json.dumps({"case": case, "steps": steps}, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


class _Words:
    """The placeholders of one case: raw text to placeholder."""

    def __init__(self, steps: list[Step], namespace: str) -> None:
        self._namespace = namespace
        self._sent: set[str] = set()
        self._uids: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._prefixes: set[str] = set()
        self._is_bookmark = False
        sent_texts: set[str] = set()
        revisions: set[int] = set()
        for step in steps:
            # A value that a case returns unchanged is the server's; a value that it sends first is its own.
            for text in _texts([step.sent, step.request]):
                self._sent.update({text, *UUID.findall(text)} - sent_texts)
            self._prefixes.update(_prefixes(step.sent))
            for value in [step.body, *(step.events or [])]:
                self._learn(value, revisions)
                sent_texts.update(obj for text in _texts(value) for obj in {text, *UUID.findall(text)})
        self._revisions = sorted(revisions)

    def step(self, step: Step) -> dict[str, Any]:
        kept = {
            name: value
            for name, value in asdict(step).items()
            if value not in (None, {}) and name != "is_kept"
        }
        request = re.sub(r"(resourceVersion=)(\d+)", lambda m: m[1] + self._sent_revision(m[2]), step.request)
        kept["request"] = self._text(request)
        for name in ("sent", "body", "events"):
            if name in kept:
                kept[name] = self._value(kept[name], is_sent=name == "sent")
        for name in ("answered_with", "headers"):
            if name in kept:
                kept[name] = self._value(kept[name])
        return kept

    # -- collecting ---------------------------------------------------------------------------------------------

    def _learn(self, value: Any, revisions: set[int]) -> None:
        for text in _texts(value):
            for uid in UUID.findall(text):
                if uid not in self._sent:
                    self._uids.setdefault(uid, f"uid-{len(self._uids) + 1}")
        for obj in _objects(value):
            meta = obj.get("metadata")
            if not isinstance(meta, dict):
                continue
            revision = meta.get("resourceVersion")
            is_own = not _is_list(obj) and not _is_bookmark(value)
            if isinstance(revision, str) and revision.isdigit() and is_own:
                revisions.add(int(revision))
            name, prefix = meta.get("name"), meta.get("generateName")
            if (
                prefix
                and name
                and name.startswith(prefix[:58])
                and name not in self._sent
                and name not in self._names
            ):
                self._names[name] = (
                    f"{prefix[:58]}<random-{len(self._names) + 1}:{len(name) - len(prefix[:58])}>"
                )

    # -- replacing ----------------------------------------------------------------------------------------------

    def _value(self, value: Any, *, is_sent: bool = False, field: str = "", owner: Any = None) -> Any:
        match value:
            case dict() if _is_event(value):
                self._is_bookmark = value["type"] == "BOOKMARK"
                reported = {"type": value["type"], "object": self._value(value["object"])}
                self._is_bookmark = False
                return reported
            case dict():
                return self._object(value, is_sent=is_sent)
            case list() if field == "managedFields" and not is_sent:
                return self._managed(value)
            case list() if field == "cells":
                return [_cell(self._value(cell)) for cell in value]
            case list() if field in BY_FIELD and value and not is_sent:
                return BY_FIELD[field] if "None" not in value else value
            case list():
                return [self._value(item, is_sent=is_sent) for item in value]
            case str() if field in BY_FIELD and value not in ("", "None") and not is_sent:
                return BY_FIELD[field]
            case int() if field in BY_FIELD and not is_sent:
                return BY_FIELD[field]
            case str():
                return self._text(value)
            case _:
                return value

    def _object(self, value: dict[str, Any], *, is_sent: bool) -> dict[str, Any]:
        reported = {
            self._text(name): self._value(item, is_sent=is_sent, field=name)
            for name, item in sorted(value.items())
            if not (name == "items" and _is_list(value))
        }
        if isinstance(value.get("items"), list) and _is_list(value):
            reported["items"] = [
                self._value(item, is_sent=is_sent) for item in value["items"] if not _is_from_elsewhere(item)
            ]
        if value.get("kind") == "Status" and isinstance(reported.get("details"), dict):
            order_causes(reported)
        meta = value.get("metadata")
        if isinstance(meta, dict) and isinstance(meta.get("resourceVersion"), str):
            revision = meta["resourceVersion"]
            if is_sent:
                reported["metadata"]["resourceVersion"] = self._sent_revision(revision)
            else:
                is_listed = _is_list(value) or self._is_bookmark
                reported["metadata"]["resourceVersion"] = (
                    self._listed(revision) if is_listed else self._revision(revision)
                )
        if isinstance(meta, dict) and meta.get("continue"):
            reported["metadata"]["continue"] = "<continue>"
        if isinstance(value.get("preconditions"), dict) and "resourceVersion" in value["preconditions"]:
            reported["preconditions"]["resourceVersion"] = self._sent_revision(
                value["preconditions"]["resourceVersion"]
            )
        if value.get("op") and str(value.get("path", "")).endswith("/resourceVersion"):
            reported["value"] = self._sent_revision(str(value["value"]))
        return reported

    def _managed(self, entries: list[dict[str, Any]]) -> Any:
        keys = [
            (
                entry.get("operation", ""),
                entry.get("time", ""),
                entry.get("manager", ""),
                entry.get("apiVersion", ""),
                entry.get("subresource", ""),
            )
            for entry in entries
        ]
        reported = [self._value(entry) for entry in entries]
        if any(one > two for one, two in pairwise(keys)):
            return {"not in the order of operation, time, manager, apiVersion, subresource": reported}
        order = sorted(range(len(entries)), key=lambda n: (keys[n][0], *keys[n][2:]))
        return [reported[n] for n in order]

    def _text(self, text: str) -> str:
        if text in self._names:
            return self._names[text]
        if text not in self._sent:
            text = OBJECT_IN_TEXT.sub(self._object_in_text, text)
            text = MICRO_TIME.sub(lambda match: match[0] if match[0] in self._sent else "<microtime>", text)
            text = TIME.sub(lambda match: match[0] if match[0] in self._sent else "<time>", text)
            text = REVISION_IN_TEXT.sub(lambda match: match[1] + self._revision(match[2]), text)
        text = UUID.sub(lambda match: self._uids.get(match[0], match[0]), text)
        for name, word in self._names.items():
            text = text.replace(name, word)
        for prefix in self._prefixes:
            text = re.sub(re.escape(prefix) + r"[a-z0-9]{5}(?![\w-])", f"{prefix}<random>", text)
        text = TOKEN.sub("<token>", text)
        for pattern, word in IN_TEXT:
            text = pattern.sub(word, text)
        return text.replace(self._namespace, "{ns}")

    def _object_in_text(self, match: re.Match[str]) -> str:
        """Some messages quote a whole object; its fields are compared in any order."""
        try:
            return json.dumps(json.dumps(self._value(json.loads(json.loads(match[0]))), sort_keys=True))
        except ValueError:
            return match[0]

    def _revision(self, revision: str) -> str:
        known = revision.isdigit() and int(revision) in self._revisions
        return f"rv-{self._revisions.index(int(revision)) + 1}" if known else revision

    def _listed(self, revision: str) -> str:
        if not revision.isdigit():
            return revision
        included = sum(1 for known in self._revisions if known <= int(revision))
        return f">=rv-{included}" if included else "before all"

    def _sent_revision(self, revision: str) -> str:
        """Literals of the case stay; otherwise the newest object version that this one includes."""
        if not revision.isdigit() or len(revision) > 9 or int(revision) < 20:
            return revision
        return self._listed(revision).removeprefix(">=")


def _texts(value: Any) -> list[str]:
    """Every text in a value, keys included, in an order independent of the server's field order."""
    match value:
        case str():
            return [value]
        case dict():
            return [text for name in sorted(value) for text in [name, *_texts(value[name])]]
        case list():
            return [text for item in value for text in _texts(item)]
        case _:
            return []


def _prefixes(sent: Any) -> set[str]:
    metas = [obj["metadata"] for obj in _objects(sent) if isinstance(obj.get("metadata"), dict)]
    return {meta["generateName"][:58] for meta in metas if meta.get("generateName")}


def _objects(value: Any) -> list[dict[str, Any]]:
    match value:
        case dict():
            return [value, *(obj for item in value.values() for obj in _objects(item))]
        case list():
            return [obj for item in value for obj in _objects(item)]
        case _:
            return []


def _is_list(obj: dict[str, Any]) -> bool:
    kind = obj.get("kind")
    return isinstance(kind, str) and kind.endswith(LIST_KINDS) and ("items" in obj or "rows" in obj)


def _is_event(obj: dict[str, Any]) -> bool:
    return set(obj) == {"type", "object"} and isinstance(obj["object"], dict)


def _is_bookmark(obj: Any) -> bool:
    return isinstance(obj, dict) and obj.get("type") == "BOOKMARK"


def _is_from_elsewhere(item: Any) -> bool:
    """Objects that a cluster creates in every namespace."""
    meta = item.get("metadata", {}) if isinstance(item, dict) else {}
    return isinstance(meta, dict) and meta.get("name") == "kube-root-ca.crt"


def order_causes(status: dict[str, Any]) -> None:
    """Sort schema errors of custom resources and conflicting managers: a real server lists them in Go map order."""
    details = status["details"]
    causes = details.get("causes", [])
    if causes and all(cause.get("reason") == "FieldManagerConflict" for cause in causes):
        details["causes"] = sorted(causes, key=lambda cause: [cause["message"], cause["field"]])
        head, colon, rest = status.get("message", "").partition(": ")
        managers = re.split(r'(?:^|\n)(?=conflicts with ")', rest)
        status["message"] = head + colon + "\n".join(sorted(managers))
        return
    if len(causes) < 2 or not str(details.get("group", "")).endswith("example.com"):
        return
    details["causes"] = sorted(
        causes, key=lambda cause: [str(cause.get(name)) for name in ("field", "message", "reason")]
    )
    parts = sorted({f"{cause.get('field')}: {cause.get('message')}" for cause in causes})
    head, bracket, rest = status["message"].partition("[")
    if bracket and sorted(rest) == sorted(", ".join(parts) + "]"):
        status["message"] = f"{head}[{', '.join(parts)}]"


def _cell(cell: Any) -> Any:
    return "<age>" if isinstance(cell, str) and AGE.fullmatch(cell) else cell
