"""GET of a pod's log: whole, its tail, or followed until the container ends."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson

from picokube.apiserver import errors
from picokube.apiserver.messages import Answer, Request, Response, Stream
from picokube.apiserver.pod_logs import LogOptions, LogReader, log_path
from picokube.apiserver.request_info import Target
from picokube.apiserver.resources import JsonObject, ResourceType
from picokube.apiserver.server_context import Serving, key_of
from picokube.apiserver.storage.store import Key
from picokube.schema import ErrorType, FieldError
from picokube.schema.go_text import go_quote

POLL_SECONDS = 0.1
MAX_DURATION_SECONDS = 2**31
MAX_DIGITS = 20
_INTEGER = re.compile(r"[+-]?[0-9]+")


def log_handler(directory: Path) -> Callable[[Serving, ResourceType, Target, Request], Any]:
    """The handler for logs that are kept in this directory."""

    async def log(serving: Serving, resource: ResourceType, target: Target, request: Request) -> Answer:
        name = target.name or ""
        key = key_of(resource, target.namespace, name)
        stored = serving.store.get(key)
        if stored is None:
            raise errors.not_found(resource.plural, resource.group, name)
        pod = orjson.loads(stored.data)
        options = _options(serving, pod, request)
        path = log_path(directory, stored.uid, options.container, previous=options.previous)
        exists = path.exists()
        if not exists and not pod["spec"].get("nodeName"):
            return Response(status=HTTPStatus.NO_CONTENT, content_type="")
        _check(pod, options, exists=exists)
        reader = LogReader(path, options)
        if not options.follow:
            return Response(body=reader.read(), content_type="text/plain")
        return Stream(chunks=_followed(serving, key, stored.uid, options, reader), content_type="text/plain")

    return log


def _options(serving: Serving, pod: JsonObject, request: Request) -> LogOptions:
    tail_lines, limit_bytes = _number(request, "tailLines"), _number(request, "limitBytes")
    seconds, moment = _number(request, "sinceSeconds"), _time(request, "sinceTime")
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
        moment = serving.clock() - timedelta(seconds=min(seconds, MAX_DURATION_SECONDS))
    return LogOptions(
        container=_container(pod, request.parameter("container")),
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


def _number(request: Request, name: str) -> int | None:
    text = request.parameter(name)
    if text is None or text == "":
        return None
    if not _INTEGER.fullmatch(text):
        raise errors.bad_request(f"strconv.ParseInt: parsing {go_quote(text)}: invalid syntax")
    # Digits are counted first: a number of thousands of them is slow to read.
    if len(text) > MAX_DIGITS or abs(int(text)) >= 2**63:
        raise errors.bad_request(f"strconv.ParseInt: parsing {go_quote(text)}: value out of range")
    return int(text)


def _time(request: Request, name: str) -> datetime | None:
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


def _container(pod: JsonObject, asked: str | None) -> str:
    spec, name = pod.get("spec") or {}, pod["metadata"]["name"]
    own = [container["name"] for container in spec.get("containers") or ()]
    initial = [init_container["name"] for init_container in spec.get("initContainers") or ()]
    if asked:
        if asked not in (*own, *initial):
            raise errors.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(own) == 1 and not initial:
        return str(own[0])
    choices = f"choose one of: [{' '.join(own)}]"
    if initial:
        choices += f" or one of the init containers: [{' '.join(initial)}]"
    raise errors.bad_request(f"a container name must be specified for pod {name}, {choices}")


def _check(pod: JsonObject, options: LogOptions, *, exists: bool) -> None:
    name = pod["metadata"]["name"]
    if options.previous and not exists:
        raise errors.bad_request(
            f'previous terminated container "{options.container}" in pod "{name}" not found'
        )
    state = _state(pod, options.container)
    if not exists and not options.previous and "running" not in state and "terminated" not in state:
        reason = (state.get("waiting") or {}).get("reason") or "ContainerCreating"
        raise errors.bad_request(
            f'container "{options.container}" in pod "{name}" is waiting to start: {reason}'
        )


def _state(pod: JsonObject, container: str) -> JsonObject:
    status = pod.get("status") or {}
    statuses = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return next((item.get("state") or {} for item in statuses if item.get("name") == container), {})


async def _followed(
    serving: Serving, key: Key, uid: str, options: LogOptions, reader: LogReader
) -> AsyncIterator[bytes]:
    while True:
        stored = serving.store.get(key)
        over = stored is None or stored.uid != uid
        if stored is not None and not over:
            over = "terminated" in _state(orjson.loads(stored.data), options.container)
        chunk = reader.read()
        if chunk:
            yield chunk
        if over or reader.is_spent:
            return
        await asyncio.sleep(POLL_SECONDS)
