"""What a controller remembers of a run between passes. All of it can be lost: it saves work and decides nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from jangar.api.meta import JsonObject
from jangar.controllers.orchestrationrun.children import child_seen
from jangar.domain.orchestration.definition import Definition, StepDefinition
from jangar.domain.orchestration.observation import Child, ChildGone, ChildRefused, ChildrenRead
from jangar.domain.orchestration.plan import Plan
from jangar.domain.orchestration.state import RunRecord, StepState
from jangar.domain.orchestration.status_document import step_document
from jangar.kube.cache import Cache, Cached
from jangar.kube.indexers import OWNER_UID
from jangar.kube.informer import Change

MOST_ENDED: Final = 256
"""Ended runs that are remembered: thousands stay until their retention is over, and few are looked at again."""


@dataclass(slots=True, kw_only=True)
class Pinned:
    """The definition that a run executes, and the object that holds it."""

    definition: Definition
    reference: Mapping[str, Any]
    """As `status.snapshotRef` says it."""
    steps: Mapping[str, StepDefinition]
    unstartable: frozenset[str]
    """Steps whose kind of child is not started here."""


@dataclass(slots=True, kw_only=True)
class RunMemory:
    """One run."""

    uid: str
    pinned: Pinned | None = None
    record: RunRecord | None = None
    status: Mapping[str, Any] = field(default_factory=dict)
    """The status that `record` was read from or written to."""
    plan: Plan | None = None
    children: dict[str, Child] = field(default_factory=dict)
    """Never changed in place: plans compare the one before with the one now."""
    children_read: ChildrenRead = ChildrenRead.NOT_YET
    pages: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Uid and resourceVersion of each page."""
    written: dict[int, object] = field(default_factory=dict)
    """The steps on each page as they were last written."""
    documents: list[tuple[StepState | None, JsonObject]] = field(default_factory=list)
    news: dict[str, Cached | None] = field(default_factory=dict)
    """Children that changed since the last pass; None is one that the cache lost."""

    def forget_record(self) -> None:
        """What is recorded must be read again."""
        self.record, self.plan = None, None
        self.pages.clear()
        self.written.clear()

    def step_documents(self, steps: Sequence[StepState]) -> list[JsonObject]:
        """The documents of these states; those of states that did not change are made once."""
        known = self.documents
        if len(known) != len(steps):
            known = [(None, {})] * len(steps)
        self.documents = [
            before if before[0] is state else (state, step_document(state))
            for before, state in zip(known, steps, strict=True)
        ]
        return [document for _, document in self.documents]

    def learn(self, facts: Mapping[str, Child]) -> None:
        """What an uncached read or a create told."""
        self.children = {**self.children, **facts}

    def take_news(self) -> None:
        """Bring the children up to date with what was watched."""
        if not self.news:
            return
        children = dict(self.children)
        for name, cached in self.news.items():
            if cached is not None:
                children[name] = child_seen(cached)
            elif not isinstance(children.get(name), ChildGone | ChildRefused):
                children.pop(name, None)
        self.news.clear()
        self.children = children


class Memories:
    """Of runs under way and of those that ended last, by uid; hears of every change of a child."""

    def __init__(self, caches: tuple[Cache, ...]) -> None:
        self._caches = caches
        self._runs: dict[str, RunMemory] = {}
        self._ended: dict[str, None] = {}
        """In the order of their last passes."""

    def of(self, uid: str) -> RunMemory:
        """The memory of a run; a new one knows the children that are cached now."""
        memory = self._runs.get(uid)
        if memory is None:
            found = [child for cache in self._caches for child in cache.by(OWNER_UID, uid)]
            memory = RunMemory(uid=uid, news={child.name: child for child in found})
            self._runs[uid] = memory
        return memory

    def note_ended(self, uid: str) -> None:
        """The run has ended: it is remembered while it is among the latest, for what still happens to its children."""
        self._ended.pop(uid, None)
        self._ended[uid] = None
        if len(self._ended) > MOST_ENDED:
            self.forget(next(iter(self._ended)))

    def forget(self, uid: str) -> None:
        self._runs.pop(uid, None)
        self._ended.pop(uid, None)

    def forget_all(self) -> None:
        """Others may write from now on."""
        self._runs.clear()
        self._ended.clear()

    def heard(self, change: Change) -> None:
        """A child changed."""
        child = change.subject
        owner = child.controller
        memory = self._runs.get(owner.uid) if owner is not None else None
        if memory is not None:
            memory.news[child.name] = change.new
