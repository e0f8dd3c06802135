"""Prepares what a command starts with: its environment, input files, git credentials and system prompt.

A container's environment has variables of its image, of the cluster and of operators. A command gets only those that
its spec names, those of the runner contract, and those that every program needs.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jangar.runner.rooted_files import Refused, Root
from jangar.runner.spec import RunnerProblem, RunnerSpec

SECRET_FILES_VARIABLE = "JANGAR_SECRET_FILES"  # noqa: S105 - the name of a variable
"""Paths of Secret volumes, separated by colons. Their values are redacted in everything that is reported."""
MAX_SECRET_FILES = 200
MAX_SECRET_LENGTH = 64 * 1024
"""Bytes of a Secret file that are read."""
NEEDED = re.compile(
    r"(?:PATH|HOME|USER|LOGNAME|SHELL|HOSTNAME|LANG|LANGUAGE|TZ|TERM|TMPDIR|SSL_CERT_FILE|SSL_CERT_DIR"
    r"|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?i:HTTPS?_PROXY|NO_PROXY|ALL_PROXY)"
    r"|JANGAR_CONTAINER_ID)$"
)
"""What every program needs. The node agent finds the processes of a container by JANGAR_CONTAINER_ID."""
CONTRACT = re.compile(r"(?:AGENTS?|ANTHROPIC|CLAUDE|CODEX|GH|GIT|GITHUB|LC|OPENAI|VCS)_")
INTERNAL = re.compile(r"(?:(?:JANGAR|KUBERNETES|PYTHON)\w*|PWD|OLDPWD|SHLVL|_)$")
"""Variables of the runner, the shell and the cluster: passed on only if the spec names them."""
_SECRET = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_?KEY|KEY)(?:_|$)", re.IGNORECASE
)
_ABOUT_A_SECRET = re.compile(r"_(?:PATH|FILE|DIR|HOME|NAME|USERNAME|ID)$", re.IGNORECASE)
_PLAIN = re.compile(r"(?:true|false|yes|no|none|null|enabled|disabled|\d{1,5})?$", re.IGNORECASE)
"""Values that are no secrets whatever their name; masking them would garble every text."""
ASKPASS = ".agent/git-askpass.sh"
TOKENS = ("VCS_TOKEN", "GH_TOKEN", "GITHUB_TOKEN")
_ASKPASS_SCRIPT = """\
#!/bin/sh
case "$1" in
  *sername*) printf '%s\\n' "${GIT_ASKPASS_USERNAME:-x-access-token}" ;;
  *) printf '%s\\n' "${VCS_TOKEN:-${GH_TOKEN:-$GITHUB_TOKEN}}" ;;
esac
"""
"""Reads the token from the environment, so that no file holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The variables that a command gets, the names of those it does not get, and the secret values among all."""

    given: Mapping[str, str]
    withheld: tuple[str, ...]
    secrets: tuple[str, ...]


def clean_environment(spec: RunnerSpec, container: Mapping[str, str]) -> Environment:
    """The command's environment from all variables of the container; those of the spec take precedence."""
    given: dict[str, str] = {}
    guessed = [value for name, value in (*container.items(), *spec.env.items()) if looks_secret(name)]
    named = [value for name, value in container.items() if name in spec.secret]
    for name, value in container.items():
        if NEEDED.match(name) or CONTRACT.match(name) or name in spec.passed:
            given[name] = value
        elif not INTERNAL.match(name) and _matches(name, spec.passed):
            # Passed by a pattern and not by its name: it comes from a Secret that was passed as a whole.
            given[name] = value
            guessed.append(value)
    given |= spec.env
    withheld = sorted(name for name in container if name not in given and not INTERNAL.match(name))
    secrets = (*named, *(value for value in guessed if not _PLAIN.match(value.strip())))
    return Environment(given=given, withheld=tuple(withheld), secrets=secrets)


def looks_secret(name: str) -> bool:
    """Whether a variable of this name usually holds a secret."""
    return bool(_SECRET.search(name)) and not _ABOUT_A_SECRET.search(name)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(pattern.endswith("*") and name.startswith(pattern[:-1]) for pattern in patterns)


def secrets_in_files(paths: str) -> list[str]:
    """The contents of the files at these colon-separated paths, and of those directly in a directory."""
    values: list[str] = []
    for path in filter(None, paths.split(":")):
        for file in _files(Path(path)):
            if len(values) >= MAX_SECRET_FILES:
                return values
            try:
                with file.open("rb") as content:
                    values.append(content.read(MAX_SECRET_LENGTH).decode("utf-8", "surrogateescape"))
            except OSError:
                continue
    return values


def _files(path: Path) -> list[Path]:
    try:
        # A volume keeps its files in a directory `..data` and links to each from its root.
        entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith(".."))
    except NotADirectoryError:
        return [path]
    except OSError:
        return []
    return [entry for entry in entries if entry.is_file()]


def write_input_files(root: Root, spec: RunnerSpec) -> None:
    """Write the input files of the spec. Raises RunnerProblem: a command does not start without its files."""
    for file in spec.input_files:
        try:
            root.write(file.path, file.content.encode("utf-8", "surrogatepass"))
        except (Refused, OSError) as error:
            raise RunnerProblem(f"input file {error}") from error


def git_variables(root: Root, given: Mapping[str, str]) -> dict[str, str]:
    """Variables that let git use the token, if there is one and GIT_ASKPASS is unset. Raises RunnerProblem."""
    if "GIT_ASKPASS" in given or not any(given.get(name) for name in TOKENS):
        return {}
    try:
        root.write(ASKPASS, _ASKPASS_SCRIPT.encode(), mode=0o755)
    except (Refused, OSError) as error:
        raise RunnerProblem(f"git askpass {error}") from error
    return {"GIT_ASKPASS": str(root.path_of(ASKPASS)), "GIT_TERMINAL_PROMPT": "0"}


def check_system_prompt(given: Mapping[str, str]) -> None:
    """Check that the system prompt exists and has the expected hash, if variables ask for it. Raises RunnerProblem."""
    path = given.get("CODEX_SYSTEM_PROMPT_PATH")
    expected = given.get("CODEX_SYSTEM_PROMPT_EXPECTED_HASH", "").removeprefix("sha256:").lower()
    is_required = given.get("CODEX_SYSTEM_PROMPT_REQUIRED", "").lower() in {"1", "true", "yes"}
    if not path:
        if is_required:
            raise RunnerProblem("a system prompt is required, and CODEX_SYSTEM_PROMPT_PATH is not set")
        return
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        if is_required or expected:
            raise RunnerProblem(f"system prompt {path}: {error.strerror}") from error
        return
    if expected and hashlib.sha256(content).hexdigest() != expected:
        raise RunnerProblem(f"system prompt {path}: its sha256 differs from the expected one")
