"""GET of an object and of a collection: selectors, pages, and the revision that a watch may start from."""

import base64
import binascii
from dataclasses import dataclass

import orjson

from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.kinds.stored_forms import upgraded, upgraded_snapshot
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.objects.selectors import Selection, selection_of
from picokube.apiserver.printing.representations import chosen
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import Answer, JsonObject, Request, Response
from picokube.apiserver.protocol.request_info import Target, forbidden, invalid_options, unsupported
from picokube.apiserver.storage.store import Compacted, Snapshot, Stored

MAX_DIGITS = 20


async def get(serving: ServerContext, resource: ResourceType, target: Target, request: Request) -> Answer:
    """The newest committed state; every read here is consistent, so resourceVersion only needs to be a number."""
    check_revision(serving, request)
    name = target.name or ""
    stored = serving.store.get(key_of(resource, target.namespace, name))
    if stored is None:
        raise errors.not_found(resource.plural, resource.group, name)
    shown = chosen(request)
    return Response(
        body=shown.one(resource, upgraded(resource, stored).data) + b"\n", content_type=shown.content_type
    )


def check_revision(serving: ServerContext, request: Request) -> None:
    version = request.parameter("resourceVersion")
    if not version:
        return
    if not is_version(version):
        raise errors.internal(invalid_version(version))
    if int(version) > serving.store.revision:
        raise too_large_version(serving, int(version))


def is_version(text: str) -> bool:
    """Whether this is a number that a revision could be: plain digits, and not more of them than 64 bits hold."""
    return text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS


def invalid_version(version: str) -> str:
    return (
        f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
    )


def too_large_version(serving: ServerContext, asked: int) -> errors.ApiError:
    """A revision that lies ahead."""
    return errors.ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {serving.store.revision}",
        details={
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
        headers=(("Retry-After", "1"),),
    )


LATEST = -1
"""In a token: go on with whatever is there now."""

_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


async def list_objects(
    serving: ServerContext, resource: ResourceType, target: Target, request: Request
) -> Answer:
    """Objects in key order. A page is followed by a token that names its revision and its last key."""
    _check_options(request)
    selection = selection_of(request, resource)
    page = _page(request)
    snapshot = _snapshot(serving, resource, target.namespace, request, page)
    found = [item for item in snapshot.objects if page.follows(item) and selection.matches(item)]
    meta: JsonObject = {"resourceVersion": str(snapshot.revision)}
    limit = page.limit
    if limit and len(found) > limit:
        meta["continue"] = _continue_token(snapshot.revision, found[limit - 1])
        if selection.is_everything:
            meta["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    elif resource.is_custom:
        meta["continue"] = ""
    shown = chosen(request)
    return Response(
        body=shown.many(resource, [item.data for item in found], meta), content_type=shown.content_type
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    limit: int = 0
    revision: int | None = None
    after: tuple[str, str] | None = None

    def follows(self, stored: Stored) -> bool:
        return self.after is None or (stored.key.namespace, stored.key.name) > self.after


def _page(request: Request) -> _Page:
    text = request.parameter("limit") or "0"
    try:
        limit = max(int(text), 0)
    except ValueError as error:
        raise errors.bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from error
    token = request.parameter("continue")
    if not token:
        return _Page(limit=0 if request.parameter("resourceVersion") == "0" else limit)
    if request.parameter("resourceVersion") not in (None, "", "0"):
        raise errors.bad_request("specifying resource version is not allowed when using continue")
    document = b""
    try:
        document = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        found = orjson.loads(document)
    except binascii.Error as error:
        raise _bad_token("illegal base64 data at input byte 0") from error
    except ValueError as error:
        raise _bad_token(_not_json(document)) from error
    if not isinstance(found, dict) or found.get("v") != "meta.k8s.io/v1":
        version = found.get("v", "") if isinstance(found, dict) else ""
        raise _bad_token(f"server does not recognize this encoded version {version}")
    start = found.get("start")
    if not isinstance(start, str) or not isinstance(found.get("rv"), int):
        raise _bad_token("encoded start resourceVersion should not be 0")
    namespace, _, name = start.rstrip("\0").rpartition("/")
    return _Page(limit=limit, revision=found["rv"], after=(namespace, name))


def _bad_token(why: str) -> errors.ApiError:
    return errors.bad_request(f"invalid continue token: continue key is not valid: {why}")


def _not_json(text: bytes) -> str:
    if not text:
        return "unexpected end of JSON input"
    shown = chr(text[0]) if 32 <= text[0] < 127 else f"\\u{text[0]:04x}"  # noqa: PLR2004 - printable ASCII
    return f"invalid character '{shown}' looking for beginning of value"


def _continue_token(revision: int, last: Stored) -> str:
    return _token_after(revision, (last.key.namespace, last.key.name))


def _token_after(revision: int, last: tuple[str, str] | None) -> str:
    namespace, name = last or ("", "")
    start = f"{namespace}/{name}\0"
    document = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return base64.urlsafe_b64encode(document).decode().rstrip("=")


def _snapshot(
    serving: ServerContext, resource: ResourceType, namespace: str | None, request: Request, page: _Page
) -> Snapshot:
    """The newest state; an older one for the next page of a list, or where resourceVersionMatch=Exact asks for it."""
    stored_as = resource.stored_as or resource.qualified
    revision = page.revision if page.revision is not None else _exact_revision(serving, request, page)
    if revision is None or revision == LATEST:
        return upgraded_snapshot(resource, serving.store.list(stored_as, namespace))
    try:
        return upgraded_snapshot(resource, serving.store.list_at(stored_as, namespace, revision))
    except Compacted as error:
        if page.revision is not None:
            raise errors.Expired(_TOO_OLD, metadata={"continue": _token_after(LATEST, page.after)}) from error
        raise errors.Expired("The resourceVersion for the provided list is too old.") from error


def _exact_revision(serving: ServerContext, request: Request, page: _Page) -> int | None:
    version = request.parameter("resourceVersion") or ""
    match = request.parameter("resourceVersionMatch") or ""
    if version and not is_version(version):
        raise errors.bad_request(f"invalid resource version: {invalid_version(version)}")
    asked = int(version or 0)
    if asked > serving.store.revision:
        raise too_large_version(serving, asked)
    exact = match == "Exact" or (page.limit and asked and not match)
    return asked if exact and asked else None


def _check_options(request: Request) -> None:
    version = request.parameter("resourceVersion") or ""
    match = request.parameter("resourceVersionMatch") or ""
    problems = []
    if match and not version:
        detail = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        problems.append(forbidden("resourceVersionMatch", detail))
    if match and request.parameter("continue"):
        detail = "resourceVersionMatch is forbidden when continue is provided"
        problems.append(forbidden("resourceVersionMatch", detail))
    if match not in ("", "Exact", "NotOlderThan"):
        problems.append(unsupported("resourceVersionMatch", match, "Exact", "NotOlderThan", ""))
    if match == "Exact" and version == "0":
        detail = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        problems.append(forbidden("resourceVersionMatch", detail))
    if request.parameter("sendInitialEvents") is not None:
        problems.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    if problems:
        raise invalid_options("ListOptions", problems)


def matching(
    serving: ServerContext, resource: ResourceType, namespace: str | None, selection: Selection
) -> Snapshot:
    """The newest objects that a selection means."""
    snapshot = upgraded_snapshot(
        resource, serving.store.list(resource.stored_as or resource.qualified, namespace)
    )
    return Snapshot(snapshot.revision, [item for item in snapshot.objects if selection.matches(item)])
