"""Parses and validates `agent-runner.json` and `run.json`. Pure.

The controller has rendered all templates: texts of prompts and parameters are used as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

SCHEMA_VERSION = "agents.proompteng.ai/runner/v1"
STATUS_PATH = "/workspace/.agent/status.json"
LOG_PATH = "/workspace/.agent/runner.log"
MAX_REPORTED_ARTIFACTS = 50

UsageFormat = Literal["auto", "claude", "codex", "none"]
Document = Mapping[str, Any]


class RunnerProblem(Exception):
    """The command was not started; the message is shown to the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """A file to write before the command starts."""

    path: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputArtifact:
    """A file that the command is expected to write."""

    name: str
    path: str | None = None
    key: str | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSpec:
    """A command with its environment, files and settings."""

    provider: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    passed: tuple[str, ...]
    """Variables of the container that the command gets as well: names, `PREFIX_*` or `*`."""
    secret: tuple[str, ...]
    """Variables that the command gets, and whose values are redacted in everything that is reported."""
    input_files: tuple[InputFile, ...]
    artifacts: tuple[OutputArtifact, ...]
    status_path: str
    log_path: str
    usage: UsageFormat
    grace: float | None
    control_path: str | None = None
    """The file that the command writes for the condition of its loop."""


def runner_spec(runner: Document, run: Document, command: Sequence[str] = ()) -> RunnerSpec:
    """The spec in the documents; a command on the command line replaces theirs. Raises RunnerProblem."""
    version = runner.get("schemaVersion", SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise RunnerProblem(f"schemaVersion {version!r} is not known; this runner knows {SCHEMA_VERSION}")
    adapter = _document(runner, "adapter")
    kind = adapter.get("type", "exec")
    if kind != "exec":
        raise RunnerProblem(
            f"adapter.type {kind!r} is not supported: use exec, for Codex with `codex exec --json`"
        )
    provider_spec = _document(runner, "providerSpec")
    sources = [_document(adapter, "exec"), adapter, provider_spec, runner]
    loop = _document(runner, "loop")
    environment, places = _document(runner, "environment"), _document(runner, "artifacts")
    secret = (
        *_names(environment, "secret"),
        *(name for source in sources for name in _names(source, "secretEnv")),
    )
    return RunnerSpec(
        provider=str(runner.get("provider") or run.get("provider") or ""),
        argv=tuple(command) or _argv(sources),
        env=_env(sources),
        passed=(*_names(environment, "pass"), *secret),
        secret=secret,
        input_files=tuple(map(_input_file, _list(_first(sources, "inputFiles"), "inputFiles"))),
        artifacts=_artifacts(_first(sources, "outputArtifacts") or run.get("artifacts")),
        status_path=_text(places.get("statusPath", STATUS_PATH), "artifacts.statusPath"),
        log_path=_text(places.get("logPath", LOG_PATH), "artifacts.logPath"),
        usage=_usage(_first(sources, "usage")),
        grace=_grace(_first(sources, "graceSeconds")),
        control_path=_text(loop["controlPath"], "loop.controlPath") if loop.get("controlPath") else None,
    )


def _argv(sources: Sequence[Document]) -> tuple[str, ...]:
    binary = _first(sources, "binary")
    if not binary:
        raise RunnerProblem("there is no command: agent-runner.json has no adapter.exec.binary")
    args = _first(sources, "args", "argsTemplate")
    return (_text(binary, "binary"), *(_text(item, "args") for item in _list(args, "args")))


def _env(sources: Sequence[Document]) -> dict[str, str]:
    given = _first(sources, "env", "envTemplate") or {}
    if not isinstance(given, Mapping):
        raise RunnerProblem("env must be an object of texts")
    for name in given:
        if not name or "=" in name or "\0" in name:
            raise RunnerProblem(f"env has a name that no variable can have: {name!r}")
    return {name: _text(value, f"env.{name}") for name, value in given.items()}


def _input_file(given: Any) -> InputFile:
    if not isinstance(given, Mapping):
        raise RunnerProblem("inputFiles must be objects with path and content")
    content = given.get("content", "")
    if not isinstance(content, str):
        raise RunnerProblem("inputFiles.content must be a text")
    return InputFile(path=_text(given.get("path"), "inputFiles.path"), content=content)


def _artifacts(given: Any) -> tuple[OutputArtifact, ...]:
    artifacts = []
    for item in _list(given, "outputArtifacts")[:MAX_REPORTED_ARTIFACTS]:
        if not isinstance(item, Mapping):
            raise RunnerProblem("outputArtifacts must be objects with a name")
        known = {name: item[name] for name in ("path", "key", "url") if item.get(name) is not None}
        texts = {name: _text(value, f"outputArtifacts.{name}") for name, value in known.items()}
        artifacts.append(OutputArtifact(name=_text(item.get("name"), "outputArtifacts.name"), **texts))
    return tuple(artifacts)


def _usage(given: Any) -> UsageFormat:
    for known in get_args(UsageFormat):
        if (given or "auto") == known:
            return known  # type: ignore[no-any-return]  # one of the Literal's own words
    raise RunnerProblem(f"usage {given!r} is not known: {', '.join(get_args(UsageFormat))}")


def _grace(given: Any) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or given < 0:
        raise RunnerProblem("graceSeconds must be a number of seconds")
    return float(given)


def _names(source: Document, field: str) -> tuple[str, ...]:
    """Names of variables, given as texts or as objects with a name, as in `secretEnv`."""
    listed = _list(source.get(field), field)
    return tuple(_text(item.get("name") if isinstance(item, Mapping) else item, field) for item in listed)


def _first(sources: Sequence[Document], *names: str) -> Any:
    return next((source[name] for source in sources for name in names if source.get(name) is not None), None)


def _document(source: Document, field: str) -> Document:
    document = source.get(field)
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise RunnerProblem(f"{field} must be an object")
    return document


def _list(given: Any, field: str) -> Sequence[Any]:
    if given is None:
        return ()
    if not isinstance(given, list):
        raise RunnerProblem(f"{field} must be a list")
    return given


def _text(given: Any, field: str) -> str:
    if not isinstance(given, str) or not (given or field.startswith(("args", "env."))) or "\0" in given:
        raise RunnerProblem(f"{field} must be a text without NUL")
    return given
