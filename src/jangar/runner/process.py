"""The whole life of `jangar runner`: read, prepare, run, collect, report. Wires the parts; reads the clock."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from jangar.runner.artifacts import collect
from jangar.runner.command import Command, NotStarted
from jangar.runner.environment import Environment, clean_environment
from jangar.runner.lines import Lines
from jangar.runner.loop_control import read_control
from jangar.runner.masking import Mask
from jangar.runner.preparing import check_system_prompt, git_variables, write_input_files
from jangar.runner.problem import RunnerProblem
from jangar.runner.report import (
    MAX_LENGTH,
    Ending,
    Outputs,
    TooLarge,
    outputs_of,
    status_document,
    termination_message,
)
from jangar.runner.rooted_files import WORKSPACE, Refused, Root
from jangar.runner.runner_log import RunnerLog
from jangar.runner.secret_files import VARIABLE as SECRET_FILES
from jangar.runner.secret_files import values_in_files
from jangar.runner.spec import LOG_PATH, STATUS_PATH, RunnerSpec, runner_spec
from jangar.runner.usage import MAX_TEXT_LENGTH, UsageReader

RESULT_VARIABLE = "JANGAR_RESULT_PATH"
CONTROL_VARIABLE = "AGENT_LOOP_CONTROL_PATH"
"""Tells the command where to write what the condition of its loop looks at."""
TERMINATION_LOG = "/dev/termination-log"
OUTPUTS = ".agent/outputs.json"
GRACE_SECONDS = 25.0
"""Less than the 30 seconds that a pod is given: what follows the end needs some of them."""
MAX_DOCUMENT = 8 * 1024 * 1024
FAILED = 1
MAX_WITHHELD = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the command line says; the rest is in the environment and the documents."""

    spec: Path | None = None
    root: Path | None = None
    grace: float | None = None
    command: tuple[str, ...] = ()


def run(asked: Asked, environ: Mapping[str, str]) -> int:
    """The exit code of the command, or why there was none: 1, 126 or 127."""
    root = Root(_root(asked, environ))
    command = Command(GRACE_SECONDS)
    command.listen()
    started_at = _now()
    try:
        documents = _runner_document(asked, environ), _run_document(environ)
        spec = runner_spec(*documents, asked.command)
        clean = clean_environment(spec, environ)
    except RunnerProblem as error:
        log = RunnerLog(root, LOG_PATH)
        log.say(str(error))
        ending = Ending(
            provider="",
            argv=asked.command,
            code=FAILED,
            started_at=started_at,
            finished_at=_now(),
            error=str(error),
            status_path=STATUS_PATH,
            log_path=LOG_PATH,
        )
        _tell(root, ending, Outputs(), Mask(), environ, log)
        return FAILED
    return _Run(root, spec, clean, environ).go(command, asked, started_at)


class _Run:
    """One command with its spec."""

    def __init__(self, root: Root, spec: RunnerSpec, clean: Environment, environ: Mapping[str, str]) -> None:
        self._root, self._spec, self._clean, self._environ = root, spec, clean, environ
        self._mask = Mask((*clean.secrets, *values_in_files(environ.get(SECRET_FILES, ""))))
        self._log = RunnerLog(root, spec.log_path)
        self._reader = UsageReader(spec.usage)
        self._lines = (Lines(self._mask, self._reader.take), Lines(self._mask))

    def go(self, command: Command, asked: Asked, started_at: datetime) -> int:
        spec = self._spec
        command.grace = next(item for item in (asked.grace, spec.grace, GRACE_SECONDS) if item is not None)
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
                [self._root.here(item) for item in spec.argv], env, self._root.path, self._take
            )
            ending = replace(ending, code=ended.code, signal=ended.signal)
        except NotStarted as error:
            ending = replace(ending, code=error.code, error=str(error))
        except RunnerProblem as error:
            ending = replace(ending, error=str(error))
        if ending.error is not None:
            self._say(ending.error)
        for stream, lines in enumerate(self._lines):
            self._log.write(stream, lines.end())
        ending = replace(
            ending,
            finished_at=_now(),
            cancelled=command.stopped_by is not None,
            usage=self._reader.usage,
            tools=self._reader.tools,
            artifacts=collect(self._root, spec.artifacts),
            control=read_control(self._root, spec.control_path, self._mask) if spec.control_path else None,
        )
        outputs = self._outputs()
        if isinstance(outputs, TooLarge):
            self._say(outputs.message)
        _tell(self._root, ending, outputs, self._mask, self._environ, self._log)
        return ending.code

    def _prepare(self) -> dict[str, str]:
        """The command's environment, once everything else is there. Raises RunnerProblem."""
        if self._clean.withheld:
            named = ", ".join(self._clean.withheld[:MAX_WITHHELD])
            self._say(f"variables not passed on (name them in environment.pass): {named}")
        check_system_prompt(self._clean.given)
        # What an earlier attempt left in a volume is not this one's result.
        for stale in filter(None, (OUTPUTS, self._spec.status_path, self._spec.control_path)):
            with suppress(Refused):
                self._root.remove(stale)
        write_input_files(self._root, self._spec)
        own = {RESULT_VARIABLE: self._ready(OUTPUTS), "AGENT_WORKSPACE": str(self._root.path)}
        if self._spec.control_path is not None:
            own[CONTROL_VARIABLE] = self._ready(self._spec.control_path)
        given = {name: self._root.here(value) for name, value in self._clean.given.items()}
        return {**given, **git_variables(self._root, self._clean.given), **own}

    def _ready(self, path: str) -> str:
        """Where the command writes a file; its directory is there. Raises RunnerProblem."""
        try:
            place = self._root.place(path)
            place.parent.mkdir(parents=True, exist_ok=True)
        except (Refused, OSError) as error:
            raise RunnerProblem(f"{self._root.path} cannot be written to: {error}") from error
        return str(place)

    def _take(self, stream: int, data: bytes) -> None:
        self._log.write(stream, self._lines[stream].take(data))

    def _outputs(self) -> Outputs | TooLarge:
        written, size = b"", 0
        with suppress(FileNotFoundError, Refused, OSError):
            file = self._root.open(OUTPUTS)
            try:
                size = os.fstat(file).st_size
                written = os.read(file, MAX_LENGTH)
            finally:
                os.close(file)
        words = self._reader.last_words
        if words is not None and len(words.encode("utf-8", "replace")) > MAX_TEXT_LENGTH:
            if not written:
                self._say(f"the last message is longer than {MAX_TEXT_LENGTH} bytes and is no output")
            words = None
        return outputs_of(written, size, words, self._mask)

    def _say(self, line: str) -> None:
        self._log.say(self._mask.text(line))


def _tell(
    root: Root,
    ending: Ending,
    outputs: Outputs | TooLarge,
    mask: Mask,
    environ: Mapping[str, str],
    log: RunnerLog,
) -> None:
    """The termination message last: who reads it finds the rest."""
    try:
        root.write(ending.status_path, status_document(ending, mask))
    except (Refused, OSError) as error:
        log.say(f"status is not kept: {mask.text(str(error))}")
    path = environ.get(RESULT_VARIABLE) or TERMINATION_LOG
    if path == TERMINATION_LOG and not Path(path).is_file():
        return
    try:
        # Mounted as a file: it can be filled, not replaced.
        Path(path).write_bytes(termination_message(outputs, ending, mask))
    except OSError as error:
        log.say(f"the result cannot be reported to {path}: {error.strerror}")


def _root(asked: Asked, environ: Mapping[str, str]) -> Path:
    """Where the work is: as told, else /workspace if it can be written to and the spec is not elsewhere, else here."""
    reported = asked.root or environ.get("AGENT_WORKSPACE")
    if reported:
        return Path(reported)
    spec = asked.spec or environ.get("AGENT_RUNNER_SPEC_PATH")
    elsewhere = spec is not None and not Path(spec).is_relative_to(WORKSPACE)
    return Path(WORKSPACE) if not elsewhere and os.access(WORKSPACE, os.W_OK | os.X_OK) else Path.cwd()


def _runner_document(asked: Asked, environ: Mapping[str, str]) -> Mapping[str, Any]:
    """Named on the command line, else by AGENT_RUNNER_SPEC_PATH, else in AGENT_RUNNER_SPEC, else where it always is."""
    path = asked.spec or environ.get("AGENT_RUNNER_SPEC_PATH")
    if path:
        return _document(Path(path), optional=False)
    if inline := environ.get("AGENT_RUNNER_SPEC"):
        return _parsed(inline.encode("utf-8", "surrogateescape"), "AGENT_RUNNER_SPEC")
    return _document(Path(WORKSPACE, "agent-runner.json"), optional=bool(asked.command))


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
        read = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        # Not the content: it may hold what nobody should read.
        raise RunnerProblem(f"{source}: is not JSON (line {error.lineno}, column {error.colno})") from error
    if not isinstance(read, dict):
        raise RunnerProblem(f"{source}: must be a JSON object")
    return read


def _now() -> datetime:
    return datetime.now(UTC)
