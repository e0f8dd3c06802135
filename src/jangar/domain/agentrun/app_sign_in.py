"""Sign-in as a GitHub App: which token a run needs, and under which names its container finds it. Pure.

The token is made just before the Job and stands in a Secret of the run's own: no manifest, status or log holds it.
"""

import re
from collections.abc import Mapping

from jangar.api.agents.vcs import VersionControlProviderSpec
from jangar.domain.job_execution.command import AppToken

GITHUB = "https://api.github.com"
VARIABLES = ("VCS_TOKEN", "GITHUB_TOKEN", "GH_TOKEN")
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(?::\d+)?(?:/[A-Za-z0-9._~/-]*)?"
)
"""Without a user or a query: what stands before the host or behind the path could be taken for something else."""
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


def host_of(address: str) -> str | None:
    """The host of an address that a sign-in may be sent to, in lower case; None for what is no such address."""
    place = _ADDRESS.fullmatch(address.rstrip("/"))
    return place["host"].lower() if place is not None else None


def app_token(spec: VersionControlProviderSpec, repository: str, mode: str) -> AppToken | str:
    """What to ask for, or what is missing to ask for it."""
    app = spec.auth.app if spec.auth else None
    if spec.provider != "github":
        return "app authentication is supported only for github"
    if app is None or not app.app_id or not app.installation_id or app.private_key_secret_ref is None:
        return "app authentication needs appId, installationId and privateKeySecretRef"
    api = (spec.api_base_url or GITHUB).rstrip("/")
    place = _ADDRESS.fullmatch(api)
    if place is None:
        return f"apiBaseUrl {api} is not a URL such as {GITHUB}"
    if place["scheme"] != "https" and place["host"] not in _LOOPBACK:
        return f"{api} is not https; credentials are sent only over https"
    installation = str(app.installation_id)
    if not installation.isdigit():
        return f"installationId {installation} is not a number"
    ref = app.private_key_secret_ref
    return AppToken(
        url=f"{api}/app/installations/{installation}/access_tokens",
        app_id=str(app.app_id),
        secret=ref.name,
        key=ref.key or "privateKey",
        body=_body(repository, mode),
        variables=VARIABLES,
    )


def _body(repository: str, mode: str) -> Mapping[str, object]:
    """For the run's own repository alone, and to read where it may only read."""
    wanted: dict[str, object] = {"repositories": [repository.rpartition("/")[2].removesuffix(".git")]}
    return wanted | ({"permissions": {"contents": "read"}} if mode == "read-only" else {})
