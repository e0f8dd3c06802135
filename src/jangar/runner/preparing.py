"""What a command finds when it starts: its input files, a way to the repository, the prompt it was promised."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from jangar.runner.problem import RunnerProblem
from jangar.runner.rooted_files import Refused, Root
from jangar.runner.spec import RunnerSpec

ASKPASS = ".agent/git-askpass.sh"
TOKENS = ("VCS_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
_SCRIPT = """\
#!/bin/sh
case "$1" in
  *sername*) printf '%s\\n' "${GIT_ASKPASS_USERNAME:-x-access-token}" ;;
  *) printf '%s\\n' "${VCS_TOKEN:-${GH_TOKEN:-$GITHUB_TOKEN}}" ;;
esac
"""
"""Reads the token from the environment: it is in no file."""


def write_input_files(root: Root, spec: RunnerSpec) -> None:
    """Raises RunnerProblem: a command without its files is not started."""
    for file in spec.input_files:
        try:
            root.write(file.path, file.content.encode("utf-8", "surrogatepass"))
        except (Refused, OSError) as error:
            raise RunnerProblem(f"input file {error}") from error


def git_variables(root: Root, given: Mapping[str, str]) -> dict[str, str]:
    """How git asks for the token, where there is one and nobody said otherwise."""
    if "GIT_ASKPASS" in given or not any(given.get(name) for name in TOKENS):
        return {}
    try:
        root.write(ASKPASS, _SCRIPT.encode(), mode=0o755)
    except (Refused, OSError) as error:
        raise RunnerProblem(f"git askpass {error}") from error
    return {"GIT_ASKPASS": str(root.place(ASKPASS)), "GIT_TERMINAL_PROMPT": "0"}


def check_system_prompt(given: Mapping[str, str]) -> None:
    """The prompt is there and the one that was meant, where the contract's variables say so. Raises RunnerProblem."""
    path = given.get("CODEX_SYSTEM_PROMPT_PATH")
    wanted = given.get("CODEX_SYSTEM_PROMPT_EXPECTED_HASH", "").removeprefix("sha256:").lower()
    required = given.get("CODEX_SYSTEM_PROMPT_REQUIRED", "").lower() in {"1", "true", "yes"}
    if not path:
        if required:
            raise RunnerProblem("a system prompt is required, and CODEX_SYSTEM_PROMPT_PATH is not set")
        return
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        if required or wanted:
            raise RunnerProblem(f"system prompt {path}: {error.strerror}") from error
        return
    if wanted and hashlib.sha256(content).hexdigest() != wanted:
        raise RunnerProblem(f"system prompt {path}: is not the one that was meant (its sha256 differs)")
