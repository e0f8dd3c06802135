"""State that a controller keeps of a run between passes. It can be lost at any time: it only saves work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from jangar.api.meta import JsonObject
from jangar.controllers.orchestrationrun.children import child_seen, is_recorded
from jangar.controllers.resources import STEP
from jangar.domain.orchestration.child_names import label_value
from jangar.domain.orchestration.definition import Definition, StepDefinition
from jangar.domain.orchestration.planning.observation import (
    Child,
    ChildGone,
    ChildRefused,
    ChildrenRead,
    ChildSeen,
)
from jangar.domain.orchestration.planning.plan import Plan
from jangar.domain.orchestration.state import RunRecord, StepState
from jangar.domain.orchestration.status_document import step_document
from jangar.kinds.registry import adapter_of_child, step_adapter
from jangar.kinds.step_adapter import StepAdapter
from kubekit.cache.informer import Change
from kubekit.cache.object_cache import OWNER_UID, Cache, Cached

MAX_ENDED: Final = 256
"""Ended runs that are kept in memory: thousands stay until their retention ends, and few change again."""


@dataclass(slots=True, kw_only=True)
class Pinned:
    """The definition that a run executes, and the object that holds it."""

    definition: Definition
    reference: Mapping[str, Any]
    """The value of `status.snapshotRef`."""
    steps: Mapping[str, StepDefinition]
    unstartable: frozenset[str]
    """Steps whose kind of child this controller does not run."""
    positions: Mapping[str, int]
    """Where each step stands in the list, by name."""


class Page(NamedTuple):
    """The object of one page of steps, as it was last written."""

    name: str
    uid: str
    version: str

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> "Page":
        meta = obj["metadata"]
        return cls(meta["name"], meta["uid"], meta["resourceVersion"])


@dataclass(slots=True, kw_only=True)
class RunMemory:
    """One run."""

    uid: str
    pinned: Pinned | None = None
    conflict: str = ""
    """Why the definition cannot be stored: another object has the name of its snapshot."""
    record: RunRecord | None = None
    status: Mapping[str, Any] = field(default_factory=dict)
    """The status that `record` was read from or written to."""
    plan: Plan | None = None
    children: dict[str, Child] = field(default_factory=dict)
    """Children that the run created. Never changed in place: plans compare the old mapping with the new one."""
    made: dict[str, str] = field(default_factory=dict)
    """Uids of the children that the run is known to have created, by name."""
    children_read: ChildrenRead = ChildrenRead.NOT_YET
    pages: dict[int, Page] = field(default_factory=dict)
    written: dict[int, object] = field(default_factory=dict)
    """The steps on each page as they were last written."""
    documents: list[tuple[StepState | None, JsonObject]] = field(default_factory=list)
    news: dict[str, tuple[Cached, bool]] = field(default_factory=dict)
    """Objects owned by the run that changed since the last pass, by uid, and whether the cache still has them."""

    def forget_record(self) -> None:
        """Drop the record, so that the next pass reads it from the API."""
        self.record, self.plan = None, None
        self.pages.clear()
        self.written.clear()

    def step_documents(self, steps: Sequence[StepState]) -> list[JsonObject]:
        """The documents of these states; documents of unchanged states are reused."""
        known = self.documents
        if len(known) != len(steps):
            known = [(None, {})] * len(steps)
        self.documents = [
            before if before[0] is state else (state, step_document(state))
            for before, state in zip(known, steps, strict=True)
        ]
        return [document for _, document in self.documents]

    def learn(self, facts: Mapping[str, Child]) -> None:
        """Add the results of uncached reads and creates."""
        self.made.update({name: child.uid for name, child in facts.items() if isinstance(child, ChildSeen)})
        self.children = {**self.children, **facts}

    def take_news(self, record: RunRecord) -> None:
        """Update the children from watch events. Objects that the run did not create are ignored."""
        if not self.news:
            return
        children = dict(self.children)
        for uid, (cached, is_there) in self.news.items():
            name = cached.name
            if not self.is_ours(record, cached):
                continue
            if is_there:
                self.made[name] = uid
                children[name] = child_seen(cached, self.adapter_of(record, cached))
            elif not isinstance(children.get(name), ChildGone | ChildRefused):
                children.pop(name, None)
        self.news.clear()
        self.children = children

    def is_ours(self, record: RunRecord, cached: Cached) -> bool:
        """Whether the run created the object: its own create succeeded, or it recorded the object's uid or hash."""
        known = self.made.get(cached.name)
        if known is not None:
            return known == cached.uid
        if any(left.name == cached.name and left.uid == cached.uid for left in record.left_behind):
            return True
        state = self.state_of(record, cached.labels.get(STEP, ""), cached.name)
        return state is not None and is_recorded(state, cached.view, self.uid)

    def adapter_of(self, record: RunRecord, cached: Cached) -> StepAdapter:
        """The adapter of the step that created the object; of any step that could have, if its label was changed."""
        label = cached.labels.get(STEP, "")
        position = self.pinned.positions.get(label) if self.pinned is not None else None
        if position is None or position >= len(record.steps):
            steps = enumerate(record.steps)
            position = next((at for at, state in steps if label_value(state.name) == label), None)
        adapter = None if position is None else step_adapter(record.steps[position].kind)
        return adapter if adapter and adapter.child else adapter_of_child(cached.view.get("kind"))

    def state_of(self, record: RunRecord, step: str, child: str) -> StepState | None:
        """The recorded step of this name, if its current attempt has a child of that name."""
        position = self.pinned.positions.get(step) if self.pinned is not None else None
        if position is None or position >= len(record.steps):
            return next((item for item in record.steps if item.child == child), None)
        state = record.steps[position]
        return state if state.child == child else None


class Memories:
    """Memories of active runs and of the runs that ended last, by uid. Receives every change of a child."""

    def __init__(self, caches: tuple[Cache, ...]) -> None:
        self._caches = caches
        self._runs: dict[str, RunMemory] = {}
        self._ended: dict[str, None] = {}
        """Ended runs in the order of their last passes."""

    def of(self, uid: str) -> RunMemory:
        """The memory of a run; a new one knows the children that are cached now."""
        memory = self._runs.get(uid)
        if memory is None:
            found = [child for cache in self._caches for child in cache.by(OWNER_UID, uid)]
            memory = RunMemory(uid=uid, news={child.uid: (child, True) for child in found})
            self._runs[uid] = memory
        return memory

    def note_ended(self, uid: str) -> None:
        """Mark the run as ended. It is kept while it is among the latest: its children may still change."""
        self._ended.pop(uid, None)
        self._ended[uid] = None
        if len(self._ended) > MAX_ENDED:
            self.forget(next(iter(self._ended)))

    def forget(self, uid: str) -> None:
        self._runs.pop(uid, None)
        self._ended.pop(uid, None)

    def forget_all(self) -> None:
        """Drop all memories: another process may have written since."""
        self._runs.clear()
        self._ended.clear()

    def record_change(self, change: Change) -> None:
        """Remember the change of a child for the next pass of its run."""
        child = change.subject
        owner = child.controller
        memory = self._runs.get(owner.uid) if owner is not None else None
        if memory is not None:
            memory.news[child.uid] = (child, change.new is not None)
