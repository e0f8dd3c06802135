"""The process `jangar runner`: reads the spec, prepares and runs the command, collects files and reports the result."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from jangar.runner.command import Command, NotStarted
from jangar.runner.output import Lines, Mask, RunnerLog
from jangar.runner.preparation import (
    SECRET_FILES_VARIABLE,
    Environment,
    check_system_prompt,
    clean_environment,
    git_variables,
    secrets_in_files,
    write_input_files,
)
from jangar.runner.report import (
    MAX_LENGTH,
    Ending,
    Outputs,
    TooLarge,
    outputs_of,
    status_document,
    termination_message,
)
from jangar.runner.result_files import collect_artifacts, read_control
from jangar.runner.rooted_files import WORKSPACE, Refused, Root
from jangar.runner.spec import LOG_PATH, STATUS_PATH, RunnerProblem, RunnerSpec, runner_spec
from jangar.runner.usage import MAX_TEXT_LENGTH, UsageReader

RESULT_VARIABLE = "JANGAR_RESULT_PATH"
CONTROL_VARIABLE = "AGENT_LOOP_CONTROL_PATH"
"""Variable with the path to which the command writes for the condition of its loop."""
TERMINATION_LOG = "/dev/termination-log"
OUTPUTS = ".agent/outputs.json"
GRACE_SECONDS = 25.0
"""Less than the 30 s grace period of a pod: reporting the result takes some of it."""
MAX_DOCUMENT = 8 * 1024 * 1024
FAILED = 1
MAX_WITHHELD = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerOptions:
    """The command line; everything else is in the environment and the documents."""

    spec: Path | None = None
    root: Path | None = None
    grace: float | None = None
    command: tuple[str, ...] = ()


def parse_command_line(words: Sequence[str]) -> RunnerOptions | None:
    """The options of `jangar runner`; None for --help and for invalid ones.

    Written by hand because the start of every agent's container would wait for a library.
    """
    at = words.index("--") if "--" in words else len(words)
    left, command = list(words[:at]), tuple(words[at + 1 :])
    values: dict[str, str] = {}
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if name in {"--root", "--grace"} and (equals or left):
            values[name] = value if equals else left.pop(0)
        elif word.startswith("-") or "spec" in values:
            return None
        else:
            values["spec"] = word
    try:
        grace = float(values["--grace"]) if "--grace" in values else None
    except ValueError:
        return None
    if grace is not None and not 0 <= grace < float("inf"):
        return None
    return RunnerOptions(
        spec=Path(values["spec"]) if "spec" in values else None,
        root=Path(values["--root"]) if "--root" in values else None,
        grace=grace,
        command=command,
    )


def run(options: RunnerOptions, environ: Mapping[str, str]) -> int:
    """Run the command and return its exit code; 1, 126 or 127 if it did not start."""
    root = Root(_root(options, environ))
    command = Command(GRACE_SECONDS)
    command.listen()
    started_at = _now()
    try:
        documents = _runner_document(options, environ), _run_document(environ)
        spec = runner_spec(*documents, options.command)
        clean = clean_environment(spec, environ)
    except RunnerProblem as error:
        log = RunnerLog(root, LOG_PATH)
        log.write_message(str(error))
        ending = Ending(
            provider="",
            argv=options.command,
            code=FAILED,
            started_at=started_at,
            finished_at=_now(),
            error=str(error),
            status_path=STATUS_PATH,
            log_path=LOG_PATH,
        )
        _report(root, ending, Outputs(), Mask(), environ, log)
        return FAILED
    return _Run(root, spec, clean, environ).go(command, options.grace, started_at)


class _Run:
    """One run of a command."""

    def __init__(self, root: Root, spec: RunnerSpec, clean: Environment, environ: Mapping[str, str]) -> None:
        self._root, self._spec, self._clean, self._environ = root, spec, clean, environ
        self._mask = Mask((*clean.secrets, *secrets_in_files(environ.get(SECRET_FILES_VARIABLE, ""))))
        self._log = RunnerLog(root, spec.log_path)
        self._reader = UsageReader(spec.usage)
        self._lines = (Lines(self._mask, self._reader.take), Lines(self._mask))

    def go(self, command: Command, grace: float | None, started_at: datetime) -> int:
        spec = self._spec
        command.grace = next(value for value in (grace, spec.grace, GRACE_SECONDS) if value is not None)
        ending = Ending(
            provider=spec.provider,
            argv=spec.argv,
            code=FAILED,
            started_at=started_at,
            finished_at=started_at,
            status_path=spec.status_path,
            log_path=spec.log_path,
        )
        try:
            env = self._prepare()
            ended = command.run(
                [self._root.localize(word) for word in spec.argv], env, self._root.path, self._take
            )
            ending = replace(ending, code=ended.code, signal=ended.signal)
        except NotStarted as error:
            ending = replace(ending, code=error.code, error=str(error))
        except RunnerProblem as error:
            ending = replace(ending, error=str(error))
        if ending.error is not None:
            self._write_message(ending.error)
        for stream, lines in enumerate(self._lines):
            self._log.write(stream, lines.end())
        ending = replace(
            ending,
            finished_at=_now(),
            cancelled=command.stopped_by is not None,
            usage=self._reader.usage,
            tools=self._reader.tools,
            artifacts=collect_artifacts(self._root, spec.artifacts),
            control=read_control(self._root, spec.control_path, self._mask) if spec.control_path else None,
        )
        outputs = self._outputs()
        if isinstance(outputs, TooLarge):
            self._write_message(outputs.message)
        _report(self._root, ending, outputs, self._mask, self._environ, self._log)
        return ending.code

    def _prepare(self) -> dict[str, str]:
        """Write the files that the command needs and return its environment. Raises RunnerProblem."""
        if self._clean.withheld:
            named = ", ".join(self._clean.withheld[:MAX_WITHHELD])
            self._write_message(f"variables not passed on (name them in environment.pass): {named}")
        check_system_prompt(self._clean.given)
        # Files that an earlier attempt left in a volume must not count as results of this one.
        for stale in filter(None, (OUTPUTS, self._spec.status_path, self._spec.control_path)):
            with suppress(Refused):
                self._root.remove(stale)
        write_input_files(self._root, self._spec)
        own = {RESULT_VARIABLE: self._writable_path(OUTPUTS), "AGENT_WORKSPACE": str(self._root.path)}
        if self._spec.control_path is not None:
            own[CONTROL_VARIABLE] = self._writable_path(self._spec.control_path)
        given = {name: self._root.localize(value) for name, value in self._clean.given.items()}
        return {**given, **git_variables(self._root, self._clean.given), **own}

    def _writable_path(self, path: str) -> str:
        """The path of a file on this machine; creates its directory. Raises RunnerProblem."""
        try:
            local = self._root.path_of(path)
            local.parent.mkdir(parents=True, exist_ok=True)
        except (Refused, OSError) as error:
            raise RunnerProblem(f"{self._root.path} cannot be written to: {error}") from error
        return str(local)

    def _take(self, stream: int, data: bytes) -> None:
        self._log.write(stream, self._lines[stream].take(data))

    def _outputs(self) -> Outputs | TooLarge:
        written, size = b"", 0
        with suppress(FileNotFoundError, Refused, OSError), self._root.reading(OUTPUTS) as file:
            size = os.fstat(file).st_size
            written = os.read(file, MAX_LENGTH)
        message = self._reader.last_message
        if message is not None and len(message.encode("utf-8", "replace")) > MAX_TEXT_LENGTH:
            if not written:
                self._write_message(
                    f"the last message is longer than {MAX_TEXT_LENGTH} bytes and is not used as an output"
                )
            message = None
        return outputs_of(written, size, message, self._mask)

    def _write_message(self, message: str) -> None:
        self._log.write_message(self._mask.text(message))


def _report(
    root: Root,
    ending: Ending,
    outputs: Outputs | TooLarge,
    mask: Mask,
    environ: Mapping[str, str],
    log: RunnerLog,
) -> None:
    """Write the status document, then the termination message: its readers expect the rest to exist."""
    try:
        root.write(ending.status_path, status_document(ending, mask))
    except (Refused, OSError) as error:
        log.write_message(f"status not written: {mask.text(str(error))}")
    path = environ.get(RESULT_VARIABLE) or TERMINATION_LOG
    if path == TERMINATION_LOG and not Path(path).is_file():
        return
    try:
        # It is mounted as a file, which can be written but not replaced.
        Path(path).write_bytes(termination_message(outputs, ending, mask))
    except OSError as error:
        log.write_message(f"the result cannot be reported to {path}: {error.strerror}")


def _root(options: RunnerOptions, environ: Mapping[str, str]) -> Path:
    """The workspace: as given, or /workspace if it is writable and the spec is in it, or the current directory."""
    if given := options.root or environ.get("AGENT_WORKSPACE"):
        return Path(given)
    spec = options.spec or environ.get("AGENT_RUNNER_SPEC_PATH")
    elsewhere = spec is not None and not Path(spec).is_relative_to(WORKSPACE)
    return Path(WORKSPACE) if not elsewhere and os.access(WORKSPACE, os.W_OK | os.X_OK) else Path.cwd()


def _runner_document(options: RunnerOptions, environ: Mapping[str, str]) -> Mapping[str, Any]:
    """The spec from the command line, AGENT_RUNNER_SPEC_PATH, AGENT_RUNNER_SPEC or the default path, in this order."""
    path = options.spec or environ.get("AGENT_RUNNER_SPEC_PATH")
    if path:
        return _document(Path(path), optional=False)
    if inline := environ.get("AGENT_RUNNER_SPEC"):
        return _parsed(inline.encode("utf-8", "surrogateescape"), "AGENT_RUNNER_SPEC")
    return _document(Path(WORKSPACE, "agent-runner.json"), optional=bool(options.command))


def _run_document(environ: Mapping[str, str]) -> Mapping[str, Any]:
    return _document(Path(environ.get("AGENT_RUN_SPEC") or Path(WORKSPACE, "run.json")), optional=True)


def _document(path: Path, *, optional: bool) -> Mapping[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_DOCUMENT + 1)
    except FileNotFoundError as error:
        if optional:
            return {}
        raise RunnerProblem(f"{path}: no such file; give a spec, or a command after --") from error
    except OSError as error:
        raise RunnerProblem(f"{path}: {error.strerror}") from error
    if len(content) > MAX_DOCUMENT:
        raise RunnerProblem(f"{path}: is larger than {MAX_DOCUMENT} bytes")
    return _parsed(content, str(path))


def _parsed(content: bytes, source: str) -> Mapping[str, Any]:
    try:
        document = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        # The content is not quoted: it may contain secrets.
        raise RunnerProblem(f"{source}: is not JSON (line {error.lineno}, column {error.colno})") from error
    if not isinstance(document, dict):
        raise RunnerProblem(f"{source}: must be a JSON object")
    return document


def _now() -> datetime:
    return datetime.now(UTC)
