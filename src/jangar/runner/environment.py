"""Which variables a command gets, and which of them hold secrets. Pure.

A container's environment holds what its image, the cluster and other people's settings put there: a command gets what
its spec names, what the contract of runners promises, and what every program needs.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jangar.runner.spec import RunnerSpec

NEEDED = re.compile(
    r"(?:PATH|HOME|USER|LOGNAME|SHELL|HOSTNAME|LANG|LANGUAGE|TZ|TERM|TMPDIR|SSL_CERT_FILE|SSL_CERT_DIR"
    r"|NODE_EXTRA_CA_CERTS|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?i:HTTPS?_PROXY|NO_PROXY|ALL_PROXY)"
    r"|JANGAR_CONTAINER_ID)$"
)
"""What programs need anywhere. The last one is the node agent's mark: by it every process of a container is found."""
PROMISED = re.compile(r"(?:AGENTS?|ANTHROPIC|CLAUDE|CODEX|GH|GIT|GITHUB|LC|OPENAI|VCS)_")
OWN = re.compile(r"(?:(?:JANGAR|KUBERNETES|PYTHON)\w*|PWD|OLDPWD|SHLVL|_)$")
"""The runner's, the shell's and the cluster's own: given only by their name in the spec."""
_SECRET = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_?KEY|KEY)(?:_|$)", re.IGNORECASE
)
_ABOUT_A_SECRET = re.compile(r"_(?:PATH|FILE|DIR|HOME|NAME|USERNAME|ID)$", re.IGNORECASE)
_PLAIN = re.compile(r"(?:true|false|yes|no|none|null|enabled|disabled|\d{1,5})?$", re.IGNORECASE)
"""Values that are no secret whatever they are called; masked, they would be missing in every text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What a command gets, what it does not, and the values that nobody may read in what we write."""

    given: Mapping[str, str]
    withheld: tuple[str, ...]
    secrets: tuple[str, ...]


def clean_environment(spec: RunnerSpec, container: Mapping[str, str]) -> Environment:
    """From all variables of the container; the spec's own win."""
    given: dict[str, str] = {}
    guessed = [value for name, value in (*container.items(), *spec.env.items()) if looks_secret(name)]
    named = [value for name, value in container.items() if name in spec.secret]
    for name, value in container.items():
        if NEEDED.match(name) or PROMISED.match(name) or name in spec.passed:
            given[name] = value
        elif not OWN.match(name) and _matches(name, spec.passed):
            # Nobody named it: it is from a Secret that was given as a whole.
            given[name] = value
            guessed.append(value)
    given |= spec.env
    withheld = sorted(name for name in container if name not in given and not OWN.match(name))
    secrets = (*named, *(value for value in guessed if not _PLAIN.match(value.strip())))
    return Environment(given=given, withheld=tuple(withheld), secrets=secrets)


def looks_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret as a rule."""
    return bool(_SECRET.search(name)) and not _ABOUT_A_SECRET.search(name)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(pattern.endswith("*") and name.startswith(pattern[:-1]) for pattern in patterns)
