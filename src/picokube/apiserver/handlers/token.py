"""POST of a TokenRequest: a token with which a service account is known."""

from collections.abc import Awaitable, Callable
from functools import cache
from typing import Final

import orjson

from picokube.apiserver.apply.managed_fields import managed_after_write
from picokube.apiserver.auth.authentication import AUDIENCE, AccountTokens, TokenClaims
from picokube.apiserver.kinds.builtin_data import LazySchema
from picokube.apiserver.kinds.resources import ResourceType
from picokube.apiserver.objects.admission import decode_request
from picokube.apiserver.objects.context import ServerContext, key_of
from picokube.apiserver.printing.representations import object_answer
from picokube.apiserver.protocol import errors
from picokube.apiserver.protocol.messages import Answer, JsonObject, Request, Target, write_options
from picokube.apiserver.storage.store import Key
from picokube.apiserver.strategies.kind import Kind
from picokube.schema.errors import invalid

GROUP: Final = "authentication.k8s.io"
USUAL_SECONDS: Final = 3600
MIN_SECONDS: Final = 600
MAX_SECONDS: Final = 2**32
_BINDABLE: Final = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}

Handler = Callable[[ServerContext, ResourceType, Target, Request], Awaitable[Answer]]


class TokenRequest(Kind):
    """A question for a token, and the answer."""

    def default(self, obj: JsonObject) -> None:
        if obj["spec"].get("expirationSeconds") is None:
            obj["spec"]["expirationSeconds"] = USUAL_SECONDS


@cache
def token_request() -> ResourceType:
    return ResourceType(
        group=GROUP,
        version="v1",
        kind="TokenRequest",
        plural="tokenrequests",
        singular="tokenrequest",
        strategy=TokenRequest("authentication/v1.TokenRequest"),
        schema=LazySchema("io.k8s.api.authentication.v1.TokenRequest"),
    )


def token_handler(accounts: AccountTokens) -> Handler:
    """The handler for tokens that these accounts are known by."""

    async def create_token(
        context: ServerContext, resource: ResourceType, target: Target, request: Request
    ) -> Answer:
        options = write_options(request)
        found = await decode_request(context, token_request(), target, request, options)
        requested = found.object
        account = _account(context, resource, target, requested)
        token_request().strategy.complete(requested)
        requested.pop("status", None)
        owned = managed_after_write(
            token_request(), None, requested, manager=options.manager, subresource="token", now=context.now()
        )
        spec = requested["spec"]
        if not spec.get("audiences"):
            spec["audiences"] = [AUDIENCE]
        _check_seconds(spec["expirationSeconds"])
        bound = _bound(context, account, spec.get("boundObjectRef"))
        token = accounts.issued(
            TokenClaims(
                account=account,
                audiences=tuple(spec["audiences"]),
                seconds=spec["expirationSeconds"],
                bound=bound,
            )
        )
        meta = {name: account["metadata"][name] for name in ("name", "namespace", "uid")}
        requested["metadata"] |= meta | {"creationTimestamp": context.now()}
        if owned:
            requested["metadata"]["managedFields"] = owned
        requested["status"] = {
            "token": token,
            "expirationTimestamp": context.after(spec["expirationSeconds"]),
        }
        return object_answer(request, token_request(), requested, status=201, warnings=found.warnings)

    return create_token


def _account(
    context: ServerContext, resource: ResourceType, target: Target, requested: JsonObject
) -> JsonObject:
    name, meta = target.name or "", requested["metadata"]
    if meta.get("name") not in (None, "", name):
        problem = invalid("metadata.name", meta["name"], "must match the service account name if specified")
        raise errors.invalid("TokenRequest", GROUP, name, [problem])
    stored = context.store.get(key_of(resource, target.namespace, name))
    if stored is None:
        raise errors.not_found(resource.plural, resource.group, name)
    if meta.get("uid") not in (None, "", stored.uid):
        why = (
            f"the UID in the token request ({meta['uid']}) does not match the UID of the service account "
            f"({stored.uid})"
        )
        raise errors.conflict("TokenRequest", GROUP, name, why)
    account: JsonObject = orjson.loads(stored.data)
    return account


def _check_seconds(seconds: int) -> None:
    if MIN_SECONDS <= seconds <= MAX_SECONDS:
        return
    detail = (
        "may not specify a duration less than 10 minutes"
        if seconds < MIN_SECONDS
        else "may not specify a duration larger than 2^32 seconds"
    )
    raise errors.invalid("TokenRequest", GROUP, "", [invalid("spec.expirationSeconds", seconds, detail)])


def _bound(
    context: ServerContext, account: JsonObject, reference: JsonObject | None
) -> dict[str, JsonObject]:
    """The claims about the object that the token is bound to."""
    if not reference:
        return {}
    kind, name = reference.get("kind", ""), reference.get("name", "")
    plural = _BINDABLE.get(kind)
    if plural is None or reference.get("apiVersion") not in (None, "", "v1"):
        version = reference.get("apiVersion") or "v1"
        shown = f"{version if '/' in version else '/' + version}, Kind={kind}"
        raise errors.bad_request(f"cannot bind token to object of type {shown}")
    namespace = "" if kind == "Node" else account["metadata"]["namespace"]
    stored = context.store.get(Key(plural, namespace, name))
    if stored is None:
        raise errors.not_found(plural, "", name)
    if reference.get("uid") not in (None, "", stored.uid):
        why = (
            f"the UID in the bound object reference ({reference['uid']}) does not match the UID in record. The object "
            "might have been deleted and then recreated"
        )
        raise errors.conflict(kind, "", name, why)
    bound: dict[str, JsonObject] = {kind.lower(): {"name": name, "uid": stored.uid}}
    if kind == "Pod":
        bound |= _node_of(context, account, orjson.loads(stored.data)["spec"])
    return bound


def _node_of(context: ServerContext, account: JsonObject, spec: JsonObject) -> dict[str, JsonObject]:
    name = account["metadata"]["name"]
    if spec.get("serviceAccountName") != name:
        raise errors.bad_request(
            f'cannot bind token for serviceaccount "{name}" to pod running with different serviceaccount name.'
        )
    node = spec.get("nodeName")
    if not node:
        return {}
    stored = context.store.get(Key("nodes", "", node))
    return {"node": {"name": node} | ({"uid": stored.uid} if stored else {})}
