"""The parts of an API server put together, without a socket: what answers requests and what follows writes.

Who needs a server in a process, or in a simulation, begins here; clock and randomness are the caller's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import orjson

from picokube.apiserver.auth.access import Access
from picokube.apiserver.auth.authentication import AccountTokens, Authenticator
from picokube.apiserver.auth.authorization import Authorizer
from picokube.apiserver.builtin_kinds import built_in_types
from picokube.apiserver.gotypes.protobuf import decode
from picokube.apiserver.handlers.pods import bind_pod, evict_pod, log_handler
from picokube.apiserver.handlers.token import token_handler
from picokube.apiserver.http.dispatch import Dispatcher
from picokube.apiserver.kinds.resources import Find, Registry
from picokube.apiserver.lifecycle.claim_protection import ClaimProtection
from picokube.apiserver.lifecycle.collector import Collector
from picokube.apiserver.lifecycle.definitions import CustomResources, DefinitionController, Types
from picokube.apiserver.lifecycle.event_expiry import EventExpiry
from picokube.apiserver.lifecycle.namespaces import NamespaceController
from picokube.apiserver.lifecycle.roles import RoleAggregation, ensure_bootstrap_roles
from picokube.apiserver.objects.context import ServerContext
from picokube.apiserver.protocol.messages import User
from picokube.apiserver.storage.sqlite_store import SqliteStore
from picokube.apiserver.storage.store import Key
from picokube.apiserver.strategies.crds.custom import resource_types_of


class Follower(Protocol):
    """A background task of the server that reacts to committed writes."""

    async def run(self) -> None:
        """Until cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEnvironment:
    """What a server takes from outside."""

    directory: Path
    """Where the logs of pods are, and the key that signs account tokens."""
    clock: Callable[[], datetime]
    new_uid: Callable[[], str]
    new_suffix: Callable[[], str]
    tokens: Mapping[str, User]
    tokenless_user: User | None = None
    """The user of requests without a token, if they are allowed."""
    authority: str | None = None
    """The certificate that pods are given to know the server by."""
    bare: bool = False
    """Leave out what kube-controller-manager does: root certificates, and removing the finalizers of deleted claims."""
    custom_types: Types = resource_types_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembly:
    """A server that answers once its followers run."""

    context: ServerContext
    dispatcher: Dispatcher
    followers: tuple[Follower, ...]


async def assemble(store: SqliteStore, around: ServerEnvironment) -> Assembly:
    """A server on the store; what every server has from its beginning is there."""
    find, access = _finder(store), Access(store)
    accounts = AccountTokens(around.directory / "tls" / "accounts.key", find, around.clock, around.new_uid)
    authenticator = Authenticator(around.tokens, tokenless_user=around.tokenless_user, accounts=accounts)
    context = ServerContext(
        store=store,
        registry=Registry(built_in_types(find, authenticator.known, access)),
        clock=around.clock,
        new_uid=around.new_uid,
        new_suffix=around.new_suffix,
        protobuf=decode,
    )
    context.listeners.append(access.on_write)
    await ensure_bootstrap_roles(context)
    dispatcher = Dispatcher(
        context,
        authenticator,
        Authorizer(access),
        {
            ("pods", "binding"): {"POST": bind_pod},
            ("pods", "eviction"): {"POST": evict_pod},
            ("pods", "log"): {"GET": log_handler(around.directory / "pod-logs")},
            ("serviceaccounts", "token"): {"POST": token_handler(accounts)},
        },
    )
    custom = CustomResources(context, around.custom_types)
    namespaces = NamespaceController(context, authority=None if around.bare else around.authority)
    await namespaces.create_initial()
    followers: list[Follower] = [
        DefinitionController(context, custom),
        namespaces,
        Collector(context),
        RoleAggregation(context),
        EventExpiry(context),
    ]
    if not around.bare:
        followers.append(ClaimProtection(context))
    return Assembly(context=context, dispatcher=dispatcher, followers=tuple(followers))


def _finder(store: SqliteStore) -> Find:
    def find(resource: str, namespace: str, name: str) -> dict[str, Any] | None:
        stored = store.get(Key(resource, namespace, name))
        return orjson.loads(stored.data) if stored is not None else None

    return find
