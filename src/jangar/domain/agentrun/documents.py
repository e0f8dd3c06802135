"""`run.json` and `agent-runner.json`: what the runner in the container reads. Pure; the names are the contract.

Templates are rendered here; the runner renders nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from jangar.api.agents.provider import AgentProviderSpec
from jangar.api.meta import JsonObject
from jangar.domain.agentrun.task import EVENT_KEYS, Task
from jangar.domain.agentrun.templates import Templates

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
