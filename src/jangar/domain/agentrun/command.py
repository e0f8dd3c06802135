"""What the container of an AgentRun runs: the runner, its documents, variables, files and mounts. Pure.

`run.json` and `agent-runner.json` are the contract with the runner, which renders no templates. Secrets are named and
never read; texts of runs, Agents and providers are only data.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jangar.api.agents.agent import AgentSpec
from jangar.api.agents.agentrun import AgentRunSpec, Workload
from jangar.api.agents.memory import MemorySpec
from jangar.api.agents.provider import AgentProviderSpec
from jangar.api.agents.vcs import VersionControlProviderSpec
from jangar.api.containers import Resources, Volume
from jangar.api.meta import JsonObject
from jangar.api.reasons import Reason
from jangar.domain.agentrun.repository import NoRepository, Repository, repository_of
from jangar.domain.agentrun.task import EVENT_KEYS, MAX_TEXT, Task, parameter_problem
from jangar.domain.agentrun.templates import TemplateError, Templates
from jangar.domain.agentrun.workflow import StepPosition
from jangar.domain.job_execution.command import Command, Mount, PodSettings, SecretVariable
from jangar.domain.orchestration.child_names import label_value
from jangar.domain.toolrun import NoCommand

WORKSPACE = "/workspace"
RUN_PATH = f"{WORKSPACE}/run.json"
RUNNER_PATH = f"{WORKSPACE}/agent-runner.json"
STATUS_PATH = f"{WORKSPACE}/.agent/status.json"
LOG_PATH = f"{WORKSPACE}/.agent/runner.log"
SCHEMA_VERSION = "agents.proompteng.ai/runner/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """What both are made from."""

    provider_name: str
    provider: AgentProviderSpec
    run: JsonObject
    task: Task
    memory: JsonObject | None
    goal: JsonObject | None
    system_prompt: str | None
    vcs: JsonObject | None
    secret_names: tuple[str, ...]
    """Variables whose values are Secrets'."""
    passes_all: bool
    """Whole Secrets are given: their keys are not known here."""
    log_retention_seconds: int | None
    control_path: str | None = None
    """The file whose content the condition of a loop looks at."""


def documents(given: Documents, templates: Templates) -> dict[str, str]:
    """Both, by their path. Raises TemplateError."""
    artifacts = [_artifact(item, templates) for item in _listed(given.provider, "outputArtifacts")]
    return {
        RUN_PATH: _json(_run(given, artifacts)),
        RUNNER_PATH: _json(_runner(given, artifacts, templates)),
    }


def _run(given: Documents, artifacts: list[JsonObject]) -> JsonObject:
    task = given.task
    implementation = task.implementation.model_dump(mode="json", by_alias=True, exclude_none=True)
    facts = {name: task.facts[name] for name in EVENT_KEYS if task.facts.get(name)}
    optional = {"vcs": given.vcs, "systemPrompt": given.system_prompt, "goal": given.goal}
    return {
        "provider": given.provider_name,
        "agentRun": given.run,
        "implementation": implementation | {"text": task.text},
        "parameters": dict(task.parameters),
        "memory": given.memory,
        "artifacts": artifacts,
        **{name: value for name, value in optional.items() if value},
        "prompt": task.facts.get("prompt") or task.text,
        **facts,
        "metadata": {"map": dict(task.facts)},
    }


def _runner(given: Documents, artifacts: list[JsonObject], templates: Templates) -> JsonObject:
    provider = given.provider
    adapter = dict(provider.adapter or {})
    kind = adapter.get("type") or "exec"
    own = adapter.get(kind) if isinstance(adapter.get(kind), Mapping) else {}
    command = {
        "binary": provider.binary,
        "args": [templates.fill(item) for item in provider.args_template or ()],
        "env": {name: templates.fill(value) for name, value in (provider.env_template or {}).items()},
        "inputFiles": [
            {"path": templates.fill(input_file.path), "content": templates.fill(input_file.content)}
            for input_file in provider.input_files or ()
        ],
        "outputArtifacts": artifacts,
    }
    logs = {} if given.log_retention_seconds is None else {"logRetentionSeconds": given.log_retention_seconds}
    return {
        "schemaVersion": SCHEMA_VERSION,
        "provider": given.provider_name,
        "inputs": dict(given.task.parameters),
        "payloads": {"eventFilePath": RUN_PATH},
        "artifacts": {"statusPath": STATUS_PATH, "logPath": LOG_PATH, **logs},
        "providerSpec": {"outputArtifacts": artifacts},
        "environment": {"pass": ["*"] if given.passes_all else [], "secret": list(given.secret_names)},
        "adapter": {"type": kind, kind: {**(own or {}), **(command if kind == "exec" else {})}},
        **({"goal": given.goal} if given.goal else {}),
        **({"loop": {"controlPath": given.control_path}} if given.control_path else {}),
    }


def _listed(provider: AgentProviderSpec, field: str) -> list[JsonObject]:
    dumped: JsonObject = provider.model_dump(mode="json", by_alias=True, exclude_none=True)
    found: list[JsonObject] = dumped.get(field) or []
    return found


def _artifact(artifact: JsonObject, templates: Templates) -> JsonObject:
    return {name: templates.fill(value) for name, value in artifact.items()}


def _json(document: JsonObject) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


PROMPT_DIRECTORY = f"{WORKSPACE}/.codex"
HOME = "/jangar/home"
"""The agent's own, outside its working tree. Not below /tmp: Codex runs no helper programs from there."""
RUNNER = ("jangar", "runner")
"""What the container of an agent starts."""
LABELS = "agents.proompteng.ai"
STEERING = frozenset({"cancel", "desiredState", "suspend", "ttlSecondsAfterFinished"})
"""Fields of a run that may change while it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefaults:
    """What operators decide about the containers of agents."""

    image: str = ""
    runner: tuple[str, ...] = RUNNER
    resources: Mapping[str, Any] | None = None
    pod: PodSettings = field(default_factory=PodSettings)
    log_retention_seconds: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentParts:
    """Everything that a run names, as it is now."""

    name: str
    uid: str
    namespace: str
    spec: AgentRunSpec
    agent: AgentSpec
    provider: AgentProviderSpec
    task: Task
    memory: tuple[str, MemorySpec] | None = None
    vcs: tuple[str, VersionControlProviderSpec] | None = None
    implementation_name: str = ""
    position: StepPosition | None = None
    """The step of the run's workflow that is started."""

    @property
    def workload(self) -> Workload | None:
        """A step's own takes the place of the run's as a whole."""
        return (self.position.step.workload if self.position else None) or self.spec.workload

    @property
    def run(self) -> JsonObject:
        """The run as templates and `run.json` tell of it."""
        known: JsonObject = {"name": self.name, "uid": self.uid, "namespace": self.namespace}
        if self.position is None:
            return known
        iteration = {} if self.position.iteration is None else {"iteration": self.position.iteration}
        return known | {"step": self.position.step.name, **iteration}


def agent_command(parts: AgentParts, defaults: AgentDefaults) -> Command | NoCommand:
    """What to start, or why nothing can be."""
    if (problem := _problem(parts)) is not None:
        return problem
    templates = Templates(_values(parts))
    try:
        repository = _repository(parts, templates)
        if isinstance(repository, NoCommand):
            return repository
        secret_env = (*_secret_env(parts), *repository.secret_env)
        made = documents(parts_of_documents(parts, defaults, repository, secret_env), templates)
    except TemplateError as error:
        return NoCommand(reason=Reason.INVALID_SPEC, message=str(error))
    return _command(parts, defaults, repository, secret_env, made)


def _problem(parts: AgentParts) -> NoCommand | None:
    if parts.task.missing:
        names = ", ".join(parts.task.missing)
        return NoCommand(reason=Reason.MISSING_INPUT, message=f"the task requires parameters: {names}")
    if (wrong := parameter_problem(parts.task.parameters)) is not None:
        return NoCommand(reason=Reason.INVALID_SPEC, message=wrong)
    if parts.task.too_large:
        message = f"the task's text has more than {MAX_TEXT:,} characters once its parameters are filled in"
        return NoCommand(reason=Reason.TOO_LARGE, message=message)
    token = parts.provider.workload and parts.provider.workload.service_account_token
    own = parts.provider.workload and parts.provider.workload.service_account_name
    if token and _service_account(parts) != own:
        message = "the provider's token is bound to its own service account; the run cannot set another one"
        return NoCommand(reason=Reason.INVALID_SPEC, message=message)
    return None


def _values(parts: AgentParts) -> JsonObject:
    """What templates read."""
    agent, task = parts.agent, parts.task
    return {
        "agentRun": parts.run,
        "agent": {
            "name": parts.spec.agent_ref.name,
            "config": agent.config or {},
            "env": {item.name: item.value for item in agent.env or ()},
        },
        "implementation": _dump(task.implementation) | {"text": task.text},
        "parameters": dict(task.parameters),
        "inputs": dict(task.parameters),
        "goal": _dump(parts.spec.goal) if parts.spec.goal else {},
        "systemPrompt": _system_prompt(parts) or "",
        "memory": _memory(parts) or {},
        "vcs": {name: value for name, value in task.facts.items() if name in {"repository", "base", "head"}},
    }


def _dump(model: Any) -> JsonObject:
    dumped: JsonObject = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


def _memory(parts: AgentParts) -> JsonObject | None:
    if parts.memory is None:
        return None
    name, memory = parts.memory
    return {"name": name, "type": memory.type, "connectionRef": _dump(memory.connection.secret_ref)}


def _system_prompt(parts: AgentParts) -> str | None:
    """The run's, else the Agent's; one that is kept elsewhere is mounted."""
    own, agents = parts.spec, parts.agent.defaults
    if own.system_prompt or own.system_prompt_ref:
        return own.system_prompt
    return agents.system_prompt if agents else None


def _prompt_mount(parts: AgentParts) -> Mount | None:
    own, agents = parts.spec, parts.agent.defaults
    given = own.system_prompt or own.system_prompt_ref
    ref = own.system_prompt_ref if given else (agents.system_prompt_ref if agents else None)
    if ref is None:
        return None
    items = [{"key": ref.key, "path": "system-prompt"}]
    secret = {"secret": {"secretName": ref.name, "items": items}}
    config = {"configMap": {"name": ref.name, "items": items}}
    source = secret if ref.kind == "Secret" else config
    return Mount(name="jangar-system-prompt", path=PROMPT_DIRECTORY, source=source, read_only=True)


def _repository(parts: AgentParts, templates: Templates) -> Repository | NoCommand:
    policy = parts.spec.vcs_policy
    required = bool(policy and policy.required)
    if parts.vcs is None:
        if required:
            return NoCommand(
                reason=Reason.INVALID_SPEC,
                message="vcsPolicy.required is true, but no repository is configured: set vcsRef",
            )
        return Repository()
    name, spec = parts.vcs
    found = repository_of(name, spec, policy, parts.task.facts, templates)
    if isinstance(found, NoRepository):
        if found.denied:
            return NoCommand(reason=Reason.POLICY_DENIED, message=found.message)
        return NoCommand(reason=Reason.INVALID_SPEC, message=found.message) if required else Repository()
    return found


def _secret_env(parts: AgentParts) -> tuple[SecretVariable, ...]:
    return tuple(
        SecretVariable(name=item.name, secret=item.secret_name, key=item.key, optional=bool(item.optional))
        for item in parts.provider.secret_env or ()
    )


def parts_of_documents(
    parts: AgentParts, defaults: AgentDefaults, repository: Repository, secret_env: Sequence[SecretVariable]
) -> Documents:
    """What the two files are made from."""
    return Documents(
        provider_name=parts.agent.provider_ref.name,
        provider=parts.provider,
        run=parts.run,
        task=parts.task,
        memory=_memory(parts),
        goal=_dump(parts.spec.goal) if parts.spec.goal else None,
        system_prompt=_system_prompt(parts),
        vcs=repository.document or None,
        secret_names=(
            *(item.name for item in secret_env),
            *(repository.app_token.variables if repository.app_token else ()),
        ),
        passes_all=bool(parts.spec.secrets),
        log_retention_seconds=defaults.log_retention_seconds,
        control_path=parts.position.control_path if parts.position else None,
    )


def _command(
    parts: AgentParts,
    defaults: AgentDefaults,
    repository: Repository,
    secret_env: tuple[SecretVariable, ...],
    made: Mapping[str, str],
) -> Command | NoCommand:
    work, offered = parts.workload, parts.provider.workload
    image = (work.image if work else None) or (offered.image if offered else None) or defaults.image
    if not image:
        message = "no image: set one in the run's or the provider's workload, or set runner.image"
        return NoCommand(reason=Reason.INVALID_SPEC, message=message)
    prompt = _prompt_mount(parts)
    env = {
        "AGENT_RUN_SPEC": RUN_PATH,
        "AGENT_RUNNER_SPEC_PATH": RUNNER_PATH,
        "AGENT_PROVIDER": parts.agent.provider_ref.name,
        "HOME": HOME,
        **repository.env,
        **_prompt_env(prompt),
    }
    return Command(
        image=image,
        command=defaults.runner,
        env={name: value.replace("$", "$$") for name, value in env.items()},
        working_dir=WORKSPACE,
        service_account=_service_account(parts),
        resources=_resources(parts, defaults),
        secret_env=secret_env,
        app_token=repository.app_token,
        secrets=tuple(parts.spec.secrets or ()),
        mounts=(*_mounts(parts), *repository.mounts, *((prompt,) if prompt else ())),
        files=made,
        labels=_labels(parts),
        pod=_pod(parts, defaults),
        status_fields=_status_fields(parts, repository),
        claim=_claim(parts),
    )


def _status_fields(parts: AgentParts, repository: Repository) -> JsonObject:
    """Status fields that legacy clients read: repository, contract, prompt hash and spec hash."""
    contract, prompt = parts.task.implementation.contract, _system_prompt(parts)
    required = (contract.required_keys if contract else None) or []
    spec = parts.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    started = {name: value for name, value in spec.items() if name not in STEERING}
    fields = {
        "vcs": dict(repository.document),
        "contract": {"requiredKeys": list(required), "missingKeys": []} if required else None,
        "systemPromptHash": hashlib.sha256(prompt.encode()).hexdigest() if prompt else None,
        "specHash": hashlib.sha256(json.dumps(started, sort_keys=True).encode()).hexdigest(),
    }
    return {name: value for name, value in fields.items() if value}


def _prompt_env(prompt: Mount | None) -> dict[str, str]:
    if prompt is not None:
        return {
            "CODEX_SYSTEM_PROMPT_PATH": f"{prompt.path}/system-prompt",
            "CODEX_SYSTEM_PROMPT_REQUIRED": "true",
        }
    return {}


def _claim(parts: AgentParts) -> str | None:
    """Only one run of an Agent may have the name that its idempotency key gives."""
    key = parts.spec.idempotency_key
    if not key:
        return None
    whole = json.dumps([parts.spec.agent_ref.name, key])
    return f"agentrun-key-{hashlib.sha256(whole.encode()).hexdigest()[:32]}"


def _config(parts: AgentParts, name: str) -> Any:
    return (parts.spec.runtime.config or {}).get(name)


def _service_account(parts: AgentParts) -> str | None:
    own = _config(parts, "serviceAccount") or _config(parts, "serviceAccountName")
    offered = parts.provider.workload.service_account_name if parts.provider.workload else None
    return str(own) if own else offered


def _resources(parts: AgentParts, defaults: AgentDefaults) -> Resources | None:
    """Each value from the nearest that names it."""
    offered, work = parts.provider.workload, parts.workload
    layers = [defaults.resources, _config(parts, "resources")]
    models = [offered.resources if offered else None, work.resources if work else None]
    merged: dict[str, dict[str, Any]] = {"requests": {}, "limits": {}}
    for layer in (layers[0], models[0] and _dump(models[0]), layers[1], models[1] and _dump(models[1])):
        for kind, values in merged.items():
            found = layer.get(kind) if isinstance(layer, Mapping) else None
            values |= {name: item for name, item in (found or {}).items() if isinstance(item, int | str)}
    return Resources(**merged) if merged["requests"] or merged["limits"] else None


def _mounts(parts: AgentParts) -> list[Mount]:
    volumes = (parts.workload.volumes if parts.workload else None) or ()
    given = [_mount(volume) for volume in volumes]
    for name, path in (("jangar-home", HOME), ("jangar-workspace", WORKSPACE)):
        if not any(item.path.rstrip("/") == path for item in given):
            given.insert(0, Mount(name=name, path=path, source={"emptyDir": {}}))
    token = parts.provider.workload and parts.provider.workload.service_account_token
    if token:
        directory, _, file = token.mount_path.rpartition("/")
        projected = {"audience": token.audience, "expirationSeconds": token.expiration_seconds, "path": file}
        source = {"projected": {"sources": [{"serviceAccountToken": projected}]}}
        given.append(Mount(name="jangar-token", path=directory or "/", source=source, read_only=True))
    return given


def _mount(volume: Volume) -> Mount:
    match volume.type:
        case "emptyDir":
            sizes = {"sizeLimit": volume.size_limit, "medium": volume.medium}
            source: JsonObject = {"emptyDir": {name: item for name, item in sizes.items() if item}}
        case "pvc":
            source = {"persistentVolumeClaim": {"claimName": volume.claim_name or volume.name}}
        case "secret":
            source = {"secret": {"secretName": volume.secret_name or volume.name}}
    return Mount(name=volume.name, path=volume.mount_path, source=source, read_only=bool(volume.read_only))


def _labels(parts: AgentParts) -> dict[str, str]:
    named = {
        "agent-run": parts.name,
        "agent": parts.spec.agent_ref.name,
        "provider": parts.agent.provider_ref.name,
        "implementation": parts.implementation_name,
    }
    if parts.position is not None:
        named |= {"step": parts.position.step.name, "step-index": str(parts.position.index)}
        named |= {"step-iteration": str(parts.position.iteration or "")}
    return {f"{LABELS}/{name}": label_value(value) for name, value in named.items() if value}


def _pod(parts: AgentParts, defaults: AgentDefaults) -> PodSettings:
    """The run's own settings, else the operators'; values of the wrong type are ignored."""
    pod = defaults.pod
    pulled = _list(_config(parts, "imagePullSecrets"))
    names = tuple(str(item.get("name") if isinstance(item, Mapping) else item) for item in pulled if item)
    return PodSettings(
        node_selector=_object(_config(parts, "nodeSelector")) or pod.node_selector,
        tolerations=_list(_config(parts, "tolerations")) or pod.tolerations,
        topology_spread=_list(_config(parts, "topologySpreadConstraints")) or pod.topology_spread,
        affinity=_object(_config(parts, "affinity")) or pod.affinity,
        image_pull_secrets=names or pod.image_pull_secrets,
        priority_class=_text(_config(parts, "priorityClassName")) or pod.priority_class,
        scheduler=_text(_config(parts, "schedulerName")) or pod.scheduler,
        runtime_class=_text(_config(parts, "runtimeClassName")) or pod.runtime_class,
    )


def _object(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) else None


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
