"""What a run requests, with everything that it references resolved, and how the request is built from the objects."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from jangar.api.agents.implementation import ImplementationText
from jangar.domain.agentrun.task import task_of
from jangar.domain.policies.patterns import canonical_repository

ANY: Final = "*"


def tolerations_in(config: Mapping[str, Any]) -> Iterator[str]:
    """What a run's `runtime.config` tolerates, as `KEY=VALUE:EFFECT`."""
    listed = config.get("tolerations")
    for item in listed if isinstance(listed, list) else ():
        if not isinstance(item, Mapping):
            yield f"{item}={ANY}:{ANY}"
            continue
        value = ANY if item.get("operator") == "Exists" or "value" not in item else item["value"]
        yield f"{item.get('key') or ANY}={value}:{item.get('effect') or ANY}"


def node_labels_in(config: Mapping[str, Any]) -> Iterator[str]:
    """The labels by which a run's `runtime.config` chooses nodes, as `KEY=VALUE`; an affinity chooses as well."""
    selector = config.get("nodeSelector")
    for key, value in selector.items() if isinstance(selector, Mapping) else ():
        yield f"{key}={value}"
    affinity = config.get("affinity")
    yield from _terms(affinity.get("nodeAffinity") if isinstance(affinity, Mapping) else None)


def _terms(value: Any) -> Iterator[str]:
    """Every expression in a node affinity, however deep; one that is not `In` may choose any value."""
    match value:
        case {"key": key, **rest}:
            values = rest.get("values")
            is_exact = rest.get("operator") == "In" and isinstance(values, list) and bool(values)
            for item in values if is_exact and isinstance(values, list) else (ANY,):
                yield f"{key}={item}"
        case Mapping():
            for item in value.values():
                yield from _terms(item)
        case list():
            for item in value:
                yield from _terms(item)


@dataclass(frozen=True, slots=True)
class SecretUse:
    """A Secret and the field or object that references it."""

    name: str
    named_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTerms:
    """What the Agent lets its runs use; an empty list allows all."""

    service_accounts: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    source_providers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What the run would use if it started now."""

    agent: str
    """Empty for a ToolRun."""
    namespace: str = ""
    labels: tuple[str, ...] = ()
    """Keys of its labels."""
    images: tuple[str, ...] = ()
    secrets: tuple[SecretUse, ...] = ()
    bound_secrets: frozenset[str] = frozenset()
    """Those that a SecretBinding permits for it."""
    service_account: str = ""
    """Empty for the default one."""
    priority_class: str = ""
    tolerations: tuple[str, ...] = ()
    """As `KEY=VALUE:EFFECT`, with `*` for a part that means any."""
    node_labels: tuple[str, ...] = ()
    """The labels by which it chooses nodes, as `KEY=VALUE`."""
    runtime_class: str = ""
    token_audiences: tuple[str, ...] = ()
    sign_in_addresses: tuple[str, ...] = ()
    """Addresses that the controllers would send a sign-in to."""
    source_providers: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    """`owner/name` in lower case, or as it was written where it is none; the first one is what limits count by."""
    on_github: bool = True
    """Whether the repositories may be on GitHub."""
    terms: AgentTerms = AgentTerms()
    missing: tuple[str, ...] = ()
    """Referenced objects that do not exist yet, such as `Agent coder`."""

    @property
    def repository(self) -> str | None:
        """What limits of repositories count by."""
        return self.repositories[0] if self.repositories else None


Document: TypeAlias = Mapping[str, Any]
Find: TypeAlias = Callable[[str, str], Document | None]
"""An object of the run's namespace, by kind and name."""

DEFAULT_SOURCE = "manual"
"""Where a task comes from that does not say so."""
_GITHUB = "github"
_REPOSITORY_PARAMETERS = ("repository", "repo")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedObjects:
    """What of the namespace may matter to a run."""

    find: Find
    memories: Sequence[Document] = ()
    bindings: Sequence[Document] = ()
    orchestration: str | None = None
    """The Orchestration whose step the run is, once that is proven."""
    default_image: str = ""


def agent_run_request(run: Document, objects: NamedObjects) -> RunRequest:
    """Everything that the run names, with what these name in turn."""
    return _RequestBuilder(run, objects).build()


class _RequestBuilder:
    def __init__(self, run: Document, objects: NamedObjects) -> None:
        self._run = run
        self._spec: Document = run.get("spec") or {}
        self._objects = objects
        self._missing: list[str] = []
        self._agent_name = _name(self._spec.get("agentRef"))
        self._agent = self._named("Agent", self._agent_name)
        self._provider = self._named("AgentProvider", _name(self._agent.get("providerRef")))
        self._task_parameters = [*self._implementations()]
        self._tasks = [task for task, _ in self._task_parameters]
        self._vcs = self._version_control()

    def build(self) -> RunRequest:
        security = self._agent.get("security") or {}
        secrets = tuple(dict.fromkeys(self._secrets()))
        config = self._config()
        return RunRequest(
            agent=self._agent_name,
            namespace=self._run["metadata"].get("namespace") or "",
            labels=tuple(self._run["metadata"].get("labels") or ()),
            images=tuple(dict.fromkeys(self._images())),
            secrets=secrets,
            bound_secrets=self._bound(),
            service_account=self._service_account(),
            priority_class=_text(config.get("priorityClassName")),
            tolerations=tuple(dict.fromkeys(tolerations_in(config))),
            node_labels=tuple(dict.fromkeys(node_labels_in(config))),
            runtime_class=_text(config.get("runtimeClassName")),
            token_audiences=tuple(self._audiences()),
            sign_in_addresses=tuple(self._sign_in_addresses()),
            source_providers=tuple(dict.fromkeys(self._sources())),
            repositories=tuple(dict.fromkeys(map(canonical_repository, self._repositories()))),
            on_github=not self._vcs or any(item.get("provider") in (None, _GITHUB) for item in self._vcs),
            terms=AgentTerms(
                service_accounts=tuple(security.get("allowedServiceAccounts") or ()),
                secrets=tuple(security.get("allowedSecrets") or ()),
                source_providers=tuple(security.get("allowedImplementationSourceProviders") or ()),
            ),
            missing=tuple(dict.fromkeys(self._missing)),
        )

    def _named(self, kind: str, name: str) -> Document:
        if not name:
            return {}
        found = self._objects.find(kind, name)
        if found is None:
            self._missing.append(f"{kind} {name}")
            return {}
        return found.get("spec") or {}

    def _steps(self) -> Sequence[Document]:
        if self._runtime().get("type") != "workflow":
            return ()
        return (self._spec.get("workflow") or {}).get("steps") or ()

    def _runtime(self) -> Document:
        return self._spec.get("runtime") or {}

    def _config(self) -> Document:
        config = self._runtime().get("config")
        return config if isinstance(config, Mapping) else {}

    def _implementations(self) -> Iterator[tuple[Document, Document]]:
        """Each task with the parameters that it gets. A step without a task of its own does the run's."""
        common: Document = self._spec.get("parameters") or {}
        default: Document | None = None
        for holder in (self._spec, *self._steps()):
            task = self._implementation(holder)
            default = task if holder is self._spec else default
            if (found := task or default) is not None:
                yield found, {**common, **(holder.get("parameters") or {})}

    def _implementation(self, holder: Document) -> Document | None:
        if inline := (holder.get("implementation") or {}).get("inline"):
            found: Document = inline
            return found
        name = _name(holder.get("implementationSpecRef"))
        return self._named("ImplementationSpec", name) if name else None

    def _version_control(self) -> list[Document]:
        """The run's own, else that of each task, else the Agent's."""
        if (self._spec.get("vcsPolicy") or {}).get("mode") == "none":
            return []
        default = _name(self._agent.get("vcsRef"))
        own = _name(self._spec.get("vcsRef"))
        names = [own] if own else [_name(task.get("vcsRef")) or default for task in self._tasks] or [default]
        return [self._named("VersionControlProvider", name) for name in dict.fromkeys(names) if name]

    def _workloads(self) -> Iterator[Document]:
        """A step's own workload takes the place of the run's as a whole."""
        own = self._spec.get("workload") or {}
        steps = self._steps()
        if not steps:
            yield own
        for step in steps:
            yield step.get("workload") or own

    def _images(self) -> Iterator[str]:
        default = (self._provider.get("workload") or {}).get("image") or self._objects.default_image
        for workload in self._workloads():
            if image := workload.get("image") or default:
                yield image

    def _service_account(self) -> str:
        config = self._config()
        candidates = (
            config.get("serviceAccount"),
            config.get("serviceAccountName"),
            (self._provider.get("workload") or {}).get("serviceAccountName"),
        )
        return next((str(item) for item in candidates if item), "")

    def _audiences(self) -> Iterator[str]:
        token = (self._provider.get("workload") or {}).get("serviceAccountToken") or {}
        if audience := token.get("audience"):
            yield audience

    def _sign_in_addresses(self) -> Iterator[str]:
        """Only an app signs in from here; other tokens are handed to the container and go nowhere by themselves."""
        for host in self._vcs:
            auth = host.get("auth") or {}
            method = auth.get("method") or (
                "app" if (auth.get("app") or {}).get("privateKeySecretRef") else ""
            )
            if method == "app" and (address := host.get("apiBaseUrl")):
                yield address

    def _sources(self) -> Iterator[str]:
        for task in self._tasks:
            yield (task.get("source") or {}).get("provider") or DEFAULT_SOURCE

    def _repositories(self) -> Iterator[str]:
        """The repository that the agent works on, under any alias; then all others that are referenced."""
        for task, parameters in self._task_parameters:
            if task and (
                used := task_of(ImplementationText.model_validate(task), parameters).facts.get("repository")
            ):
                yield used
        for holder in (self._spec, *self._steps()):
            for parameter in _REPOSITORY_PARAMETERS:
                if value := (holder.get("parameters") or {}).get(parameter):
                    yield value
        for task in self._tasks:
            source = task.get("source") or {}
            owner_and_name, hash_sign, _ = (source.get("externalId") or "").partition("#")
            if source.get("provider") == _GITHUB and hash_sign:
                yield owner_and_name

    def _secrets(self) -> Iterator[SecretUse]:
        for name in self._spec.get("secrets") or ():
            yield SecretUse(name, "spec.secrets")
        # Also volumes that no step would mount: what is written is what is judged.
        for holder in (self._spec, *((self._spec.get("workflow") or {}).get("steps") or ())):
            for volume in (holder.get("workload") or {}).get("volumes") or ():
                if volume.get("type") == "secret":
                    yield SecretUse(volume.get("secretName") or volume.get("name") or "", "a volume")
        yield from _pull_secrets(self._config())
        prompt_owner = self._spec
        if not (prompt_owner.get("systemPrompt") or prompt_owner.get("systemPromptRef")):
            prompt_owner = self._agent.get("defaults") or {}
        prompt = prompt_owner.get("systemPromptRef") or {}
        if prompt.get("kind") == "Secret":
            yield SecretUse(prompt["name"], "systemPromptRef")
        for variable in self._provider.get("secretEnv") or ():
            yield SecretUse(variable["secretName"], f"AgentProvider {_name(self._agent.get('providerRef'))}")
        yield from self._memory_secrets()
        for host in self._vcs:
            for name in _sign_in_secrets(host.get("auth") or {}):
                yield SecretUse(name, "the VersionControlProvider")

    def _memory_secrets(self) -> Iterator[SecretUse]:
        named = _name(self._spec.get("memoryRef")) or _name(self._agent.get("memoryRef"))
        if named:
            memories = [self._named("Memory", named)]
        else:
            memories = [
                spec for item in self._objects.memories if (spec := item.get("spec") or {}).get("default")
            ]
        for memory in memories:
            if secret := _name((memory.get("connection") or {}).get("secretRef")):
                yield SecretUse(secret, f"Memory {named}" if named else "the default Memory")

    def _bound(self) -> frozenset[str]:
        metadata = self._run["metadata"]
        subjects = {
            ("Agent", self._agent_name),
            ("AgentRun", metadata["name"]),
            *((("Orchestration", self._objects.orchestration),) if self._objects.orchestration else ()),
        }
        return frozenset(
            name
            for binding in self._objects.bindings
            for spec in [binding.get("spec") or {}]
            if any(
                _is_subject(subject, subjects, metadata["namespace"])
                for subject in spec.get("subjects") or ()
            )
            for name in spec.get("allowedSecrets") or ()
        )


def tool_run_request(run: Document, tool: Document) -> RunRequest:
    """What a ToolRun asks for; `tool` is the spec of the Tool that it names."""
    metadata = run["metadata"]
    image = tool.get("image")
    return RunRequest(
        agent="",
        namespace=metadata.get("namespace") or "",
        labels=tuple(metadata.get("labels") or ()),
        images=(image,) if image else (),
        service_account=tool.get("serviceAccount") or "",
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_subject(subject: Document, subjects: set[tuple[str, str]], namespace: str) -> bool:
    place = subject.get("namespace")
    return (subject.get("kind"), subject.get("name")) in subjects and (not place or place == namespace)


def _pull_secrets(config: Document) -> Iterator[SecretUse]:
    listed = config.get("imagePullSecrets")
    for item in listed if isinstance(listed, list) else ():
        if item:
            name = item.get("name") if isinstance(item, Mapping) else item
            yield SecretUse(str(name), "spec.runtime.config.imagePullSecrets")


def _sign_in_secrets(auth: Document) -> list[str]:
    """Of the method that is used: the one that is named, else the first that names a Secret."""
    secrets = {
        "token": _name((auth.get("token") or {}).get("secretRef")),
        "app": _name((auth.get("app") or {}).get("privateKeySecretRef")),
        "ssh": _name((auth.get("ssh") or {}).get("privateKeySecretRef")),
    }
    method = auth.get("method")
    if method:
        return [name for name in [secrets.get(method, "")] if name]
    return [name for name in secrets.values() if name][:1]


def _name(reference: Document | None) -> str:
    return (reference or {}).get("name") or ""
