"""Who may do what, by the roles and bindings that are stored. Knows RBAC; knows no request."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import orjson

from picokube.apiserver.access_rules import Ask, Json, ResourceAsk, described, rule_allows, subject_of
from picokube.apiserver.messages import User
from picokube.apiserver.server_context import Heard
from picokube.apiserver.storage.store import Store

MASTERS: Final = "system:masters"
"""The group that may do everything, whatever the roles say."""
GROUP: Final = "rbac.authorization.k8s.io"
EVERYTHING: Final = (
    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
    {"verbs": ["*"], "nonResourceURLs": ["*"]},
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Yes or no. A reason is there if a role is the ground of a yes, or is missing for one."""

    allowed: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Grant:
    ground: str
    rules: tuple[Json, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Missing:
    """A binding whose role is not there."""

    role: str


class Access:
    """Answers from the stored roles. They are read when first asked for, and again after one was written."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, dict[tuple[str, str], Json]] = {}

    def hear(self, heard: Heard) -> None:
        """Forget what a write made out of date."""
        if heard.resource.group == GROUP:
            self._read.clear()

    def decide(self, user: User, ask: Ask) -> Decision:
        if MASTERS in user.groups:
            return Decision(allowed=True)
        missing: list[str] = []
        for grant in self._grants(user, ask.namespace if isinstance(ask, ResourceAsk) else ""):
            match grant:
                case _Missing(role=role):
                    missing.append(role)
                case _Grant(ground=ground, rules=rules):
                    if any(rule_allows(rule, ask) for rule in rules):
                        return Decision(allowed=True, reason=f"RBAC: allowed by {ground}")
        return Decision(allowed=False, reason=_lacking(missing))

    def rules(self, user: User, namespace: str) -> tuple[list[Json], str]:
        """Everything a user may do in a namespace, and which roles are missing."""
        found: list[Json] = [*EVERYTHING] if MASTERS in user.groups else []
        missing: list[str] = []
        for grant in self._grants(user, namespace):
            match grant:
                case _Missing(role=role):
                    missing.append(role)
                case _Grant(rules=rules):
                    found.extend(rules)
        return found, _lacking(missing).removeprefix("RBAC: ")

    def rules_of(self, kind: str, namespace: str, name: str) -> tuple[Json, ...] | None:
        """What a role allows; None if it is not there."""
        place = "" if kind == "ClusterRole" else namespace
        role = self._all(f"{kind.lower()}s").get((place, name))
        return None if role is None else tuple(role.get("rules") or ())

    def _grants(self, user: User, namespace: str) -> Iterator[_Grant | _Missing]:
        bindings = list(self._all("clusterrolebindings").values())
        if namespace:
            bindings += [item for (place, _), item in self._all("rolebindings").items() if place == namespace]
        for binding in bindings:
            subject = subject_of(binding, user)
            if subject is not None:
                yield self._grant(binding, subject)

    def _grant(self, binding: Json, subject: Json) -> _Grant | _Missing:
        kind, name = binding["roleRef"]["kind"], binding["roleRef"]["name"]
        rules = self.rules_of(kind, binding["metadata"].get("namespace", ""), name)
        if rules is None:
            return _Missing(role=f'{kind.lower()}.{GROUP} "{name}" not found')
        return _Grant(ground=described(binding, subject), rules=rules)

    def _all(self, plural: str) -> dict[tuple[str, str], Json]:
        if plural not in self._read:
            stored = self._store.list(f"{plural}.{GROUP}").objects
            self._read[plural] = {
                (item.key.namespace, item.key.name): orjson.loads(item.data) for item in stored
            }
        return self._read[plural]


def _lacking(missing: list[str]) -> str:
    reported = list(dict.fromkeys(missing))
    if not reported:
        return ""
    return f"RBAC: {reported[0] if len(reported) == 1 else '[' + ', '.join(reported) + ']'}"
