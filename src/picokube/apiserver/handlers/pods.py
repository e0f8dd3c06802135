"""Subresources of a pod: its log, its binding to a node, and its eviction.

Logs are files in the format of container runtimes: `2026-02-07T12:00:00.000000000Z stdout F text`.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from http import HTTPStatus
from os import SEEK_END
from pathlib import Path
from typing import Any, Final

import orjson

from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.objects.admission import decode_request
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.objects.deletion import DeleteOptions, check_preconditions, delete, delete_options
from picokube.apiserver.objects.object_store import put_decision
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import (
    Answer,
    JsonObject,
    Request,
    Response,
    Stream,
    Target,
    json_response,
    write_options,
)
from picokube.apiserver.storage.store import Key, Put, Stored
from picokube.apiserver.strategies.kind import Kind
from picokube.schema import ErrorType, FieldError
from picokube.schema.go_text import go_quote

CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """Which part of a log, and in which form."""

    container: str
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    since: datetime | None = None


def log_path(directory: Path, pod_uid: str, container: str, *, previous: bool = False) -> Path:
    """The log of a container of a pod; the one before its last restart with `previous`."""
    return directory / pod_uid / f"{container}{'.previous' if previous else ''}.log"


class LogReader:
    """Reads a growing log from where it was read last."""

    def __init__(self, path: Path, options: LogOptions) -> None:
        self._path = path
        self._options = options
        self._place = 0
        self._rest = b""
        self._left = options.limit_bytes
        self._is_first = True

    @property
    def is_spent(self) -> bool:
        """The limit of bytes is reached."""
        return self._left is not None and self._left <= 0

    def read(self) -> bytes:
        """The lines written since the last call; an incomplete last line is kept for the next one."""
        if not self._path.exists():
            return b""
        with self._path.open("rb") as file:
            if file.seek(0, SEEK_END) < self._place:
                # Another file has taken its place: rotated.
                self._place, self._rest = 0, b""
            file.seek(self._place)
            data = self._rest + file.read()
            self._place = file.tell()
        lines = data.split(b"\n")
        self._rest = lines.pop()
        if self._is_first and self._options.tail_lines is not None:
            lines = lines[-self._options.tail_lines :] if self._options.tail_lines else []
        self._is_first = False
        return self._limited(b"".join(self._shown(lines)))

    def _shown(self, lines: list[bytes]) -> Iterator[bytes]:
        for line in lines:
            time, _, entry = line.partition(b" ")
            _, _, tagged = entry.partition(b" ")
            tag, _, text = tagged.partition(b" ")
            if self._options.since is not None and not _is_since(time, self._options.since):
                continue
            prefix = time + b" " if self._options.timestamps else b""
            yield prefix + text + (b"" if tag == b"P" else b"\n")

    def _limited(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        shown = data[: max(self._left, 0)]
        self._left -= len(shown)
        return shown


def _timestamp(text: str) -> datetime:
    """Nanoseconds are more than a datetime holds."""
    whole, _, fraction = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(f"{whole}.{fraction[:6]:0<6}Z")


def _is_since(time: bytes, since: datetime) -> bool:
    try:
        return _timestamp(time.decode()) >= since
    except ValueError:
        return True


POLL_SECONDS = 0.1
MAX_DURATION_SECONDS = 2**31
MAX_DIGITS = 20
_INTEGER = re.compile(r"[+-]?[0-9]+")


def log_handler(directory: Path) -> Callable[[ServerContext, ResourceType, Target, Request], Any]:
    """The handler for logs that are kept in this directory."""

    async def log(context: ServerContext, resource: ResourceType, target: Target, request: Request) -> Answer:
        name = target.name or ""
        key = key_of(resource, target.namespace, name)
        stored = context.store.get(key)
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, name)
        pod = orjson.loads(stored.data)
        options = _log_options(context, pod, request)
        path = log_path(directory, stored.uid, options.container, previous=options.previous)
        exists = path.exists()
        if not exists and not pod["spec"].get("nodeName"):
            return Response(status=HTTPStatus.NO_CONTENT, content_type="")
        _check_started(pod, options, exists=exists)
        reader = LogReader(path, options)
        if not options.follow:
            return Response(body=reader.read(), content_type="text/plain")
        return Stream(chunks=_followed(context, key, stored.uid, options, reader), content_type="text/plain")

    return log


def _log_options(context: ServerContext, pod: JsonObject, request: Request) -> LogOptions:
    tail_lines, limit_bytes = (
        _integer_parameter(request, "tailLines"),
        _integer_parameter(request, "limitBytes"),
    )
    seconds, moment = _integer_parameter(request, "sinceSeconds"), _since_time(request, "sinceTime")
    problems = [
        *_too_small("tailLines", tail_lines, 0, "greater than or equal to 0"),
        *_too_small("limitBytes", limit_bytes, 1, "greater than 0"),
    ]
    if seconds is not None and moment is not None:
        detail = "at most one of `sinceTime` or `sinceSeconds` may be specified"
        problems.append(FieldError(type=ErrorType.FORBIDDEN, field="[]", detail=detail))
    else:
        problems += _too_small("sinceSeconds", seconds, 1, "greater than 0")
    if problems:
        raise errors.invalid("PodLogOptions", "", pod["metadata"]["name"], problems)
    if seconds is not None:
        moment = context.clock() - timedelta(seconds=min(seconds, MAX_DURATION_SECONDS))
    return LogOptions(
        container=_requested_container(pod, request.parameter("container")),
        follow=request.flag("follow"),
        previous=request.flag("previous"),
        timestamps=request.flag("timestamps"),
        tail_lines=tail_lines,
        limit_bytes=limit_bytes,
        since=moment,
    )


def _too_small(name: str, value: int | None, least: int, words: str) -> list[FieldError]:
    if value is None or value >= least:
        return []
    return [FieldError(type=ErrorType.INVALID, field=name, bad_value=value, detail=f"must be {words}")]


def _integer_parameter(request: Request, name: str) -> int | None:
    text = request.parameter(name)
    if text is None or text == "":
        return None
    if not _INTEGER.fullmatch(text):
        raise errors.bad_request(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    # Digits are counted first: a number of thousands of them is slow to read.
    if len(text) > MAX_DIGITS or abs(int(text)) >= 2**63:
        raise errors.bad_request(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return int(text)


def _since_time(request: Request, name: str) -> datetime | None:
    text = request.parameter(name)
    if not text:
        return None
    try:
        if "T" not in text:
            raise ValueError(text)  # noqa: TRY301 - a date alone is a time to Python only
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        shown = go_quote(text)
        raise errors.bad_request(
            f'parsing time {shown} as "2006-01-02T15:04:05Z07:00": cannot parse {shown} as "2006"'
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _requested_container(pod: JsonObject, requested: str | None) -> str:
    spec, name = pod.get("spec") or {}, pod["metadata"]["name"]
    own = [container["name"] for container in spec.get("containers") or ()]
    initial = [init_container["name"] for init_container in spec.get("initContainers") or ()]
    if requested:
        if requested not in (*own, *initial):
            raise errors.bad_request(f"container {requested} is not valid for pod {name}")
        return requested
    if len(own) == 1 and not initial:
        return str(own[0])
    choices = f"choose one of: [{' '.join(own)}]"
    if initial:
        choices += f" or one of the init containers: [{' '.join(initial)}]"
    raise errors.bad_request(f"a container name must be specified for pod {name}, {choices}")


def _check_started(pod: JsonObject, options: LogOptions, *, exists: bool) -> None:
    name = pod["metadata"]["name"]
    if options.previous and not exists:
        raise errors.bad_request(
            f'previous terminated container "{options.container}" in pod "{name}" not found'
        )
    state = _container_state(pod, options.container)
    if not exists and not options.previous and "running" not in state and "terminated" not in state:
        reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
        raise errors.bad_request(
            f'container "{options.container}" in pod "{name}" is waiting to start: {reason}'
        )


def _container_state(pod: JsonObject, container: str) -> JsonObject:
    status = pod.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return next((item.get("state") or {} for item in statuses if item.get("name") == container), {})


async def _followed(
    context: ServerContext, key: Key, uid: str, options: LogOptions, reader: LogReader
) -> AsyncIterator[bytes]:
    while True:
        stored = context.store.get(key)
        over = stored is None or stored.uid != uid
        if stored is not None and not over:
            over = "terminated" in _container_state(orjson.loads(stored.data), options.container)
        chunk = reader.read()
        if chunk:
            yield chunk
        if over or reader.is_spent:
            return
        await asyncio.sleep(POLL_SECONDS)


_DONE: Final = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
_EVICTED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


async def bind_pod(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """A pod has one node, and keeps it."""
    options = write_options(request)
    binding = await _body(context, _type("", "Binding", "core/v1.Binding"), target, request)
    node = _node(binding)
    bound: JsonObject | None = None

    def change(stored: Stored | None) -> Put | None:
        nonlocal bound
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, target.name or "")
        pod = orjson.loads(stored.data)
        _check_free(pod, binding["metadata"])
        _assign(pod, node, binding["metadata"], context.now())
        if options.dry_run:
            return None
        bound = pod
        return put_decision(pod)

    await context.store.change(key_of(resource, target.namespace, target.name or ""), change)
    if bound is not None:
        context.notify(resource, bound)
    return json_response(_DONE, status=201)


async def evict_pod(
    context: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Delete a pod with its grace period. Budgets are stored only: they never delay an eviction."""
    options = write_options(request)
    eviction = await _body(context, _type("policy", "Eviction", "policy/v1.Eviction"), target, request)
    found = delete_options(eviction.get("deleteOptions") or {})
    wanted = replace(found, dry_run=found.dry_run or options.dry_run)
    key = key_of(resource, target.namespace, target.name or "")
    if not wanted.dry_run:
        await _announce(context, resource, key, wanted)
    await delete(context, resource, key, wanted)
    return json_response(_DONE, status=201)


async def _announce(context: ServerContext, resource: ResourceType, key: Key, options: DeleteOptions) -> None:
    """Add the DisruptionTarget condition to the pod."""
    reported: JsonObject | None = None

    def change(stored: Stored | None) -> Put | None:
        nonlocal reported
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, key.name)
        pod = orjson.loads(stored.data)
        check_preconditions(resource, pod, options)
        if pod["metadata"].get("deletionTimestamp"):
            return None
        _set_condition(pod, _EVICTED, context.now())
        reported = pod
        return put_decision(pod)

    await context.store.change(key, change)
    if reported is not None:
        context.notify(resource, reported)


async def _body(context: ServerContext, kind: ResourceType, target: Target, request: Request) -> JsonObject:
    found = (await decode_request(context, kind, target, request, write_options(request))).object
    if found["metadata"].get("name") != target.name:
        raise errors.bad_request(f"name in URL does not match name in {kind.kind} object")
    return found


@cache
def _type(group: str, kind: str, struct: str) -> ResourceType:
    plural = f"{kind.lower()}s"
    return ResourceType(
        group=group, version="v1", kind=kind, plural=plural, singular=kind.lower(), strategy=Kind(struct)
    )


def _node(binding: JsonObject) -> str:
    target = binding.get("target") or {}
    kind, name = target.get("kind", ""), target.get("name", "")
    problems = []
    if kind not in ("", "Node"):
        problems.append(f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"')
    if not name:
        problems.append("target.name: Required value")
    if problems:
        raise errors.internal(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return str(name)


def _check_free(pod: JsonObject, meta: JsonObject) -> None:
    own, spec = pod["metadata"], pod["spec"]
    name = own["name"]
    for field, shown in (("uid", "UID"), ("resourceVersion", "ResourceVersion")):
        if meta.get(field) and meta[field] != own[field]:
            why = f"Precondition failed: {shown} in precondition: {meta[field]}, {shown} in object meta: {own[field]}"
            raise errors.conflict("pods", "", name, why)
    if own.get("deletionTimestamp"):
        why = f"pod {name} is being deleted, cannot be assigned to a host"
    elif spec.get("nodeName"):
        why = f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    elif spec.get("schedulingGates"):
        why = f"pod {name} has non-empty .spec.schedulingGates"
    else:
        return
    raise errors.conflict("pods/binding", "", name, why)


def _assign(pod: JsonObject, node: str, meta: JsonObject, now: str) -> None:
    pod["spec"]["nodeName"] = node
    for name in ("annotations", "labels"):
        if meta.get(name):
            pod["metadata"][name] = {**(pod["metadata"].get(name) or {}), **meta[name]}
    status = pod.setdefault("status", {})
    status.pop("nominatedNodeName", None)
    _set_condition(pod, {"type": "PodScheduled", "status": "True"}, now)


def _set_condition(pod: JsonObject, condition: JsonObject, now: str) -> None:
    status = pod.setdefault("status", {})
    conditions = status.get("conditions") or []
    before: JsonObject = next((item for item in conditions if item["type"] == condition["type"]), {})
    since = before.get("lastTransitionTime", now) if before.get("status") == condition["status"] else now
    new = condition | {"lastProbeTime": None, "lastTransitionTime": since}
    status["conditions"] = [item for item in conditions if item["type"] != condition["type"]] + [new]
