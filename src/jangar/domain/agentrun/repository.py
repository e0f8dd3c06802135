"""The repository of a run, as variables for its container, and the sign-in as a GitHub App. Pure.

Tokens are named, never read. An app's token is created just before the Job and stored in a Secret of the run's own: no
manifest, status or log contains it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from jangar.api.agents.agentrun import VcsPolicy
from jangar.api.agents.vcs import VcsAuth, VersionControlProviderSpec
from jangar.api.meta import JsonObject
from jangar.domain.agentrun.templates import Templates
from jangar.domain.job_execution.command import AppToken, Mount, SecretVariable

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


SSH_DIRECTORY = "/var/run/secrets/agents/vcs"
_USERS = {"github": "x-access-token", "gitlab": "oauth2", "bitbucket": "x-token-auth"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """What the container gets, and what `run.json` and the status say about it."""

    env: Mapping[str, str] = field(default_factory=dict)
    secret_env: tuple[SecretVariable, ...] = ()
    app_token: AppToken | None = None
    mounts: tuple[Mount, ...] = ()
    document: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRepository:
    """Why the run continues without one."""

    message: str
    denied: bool = False
    """The provider forbids it: that is no matter of going on without."""


def repository_of(
    name: str,
    spec: VersionControlProviderSpec,
    policy: VcsPolicy | None,
    facts: Mapping[str, str],
    templates: Templates,
) -> Repository | NoRepository:
    """What a run may do with its repository, and how it signs in there. Raises TemplateError."""
    mode = _mode(spec, policy)
    repository = facts.get("repository")
    if mode == "none":
        return NoRepository(message="the repository is not used: mode is none")
    if not repository:
        return NoRepository(message="no parameter sets the repository")
    if not _may_use(spec, repository):
        return NoRepository(message=f"{name} does not allow repository {repository}", denied=True)
    auth = spec.auth or VcsAuth()
    method = auth.method or _method(auth)
    token = app_token(spec, repository, mode) if method == "app" else None
    if isinstance(token, str):
        return NoRepository(message=f"{name}: {token}")
    defaults = spec.defaults
    base = facts.get("base") or (defaults.base_branch if defaults else None) or ""
    template = defaults.branch_template if defaults else None
    head = facts.get("head") or (templates.fill(template) if template else "")
    env = _variables(name, spec, method, mode) | {
        "VCS_REPOSITORY": repository,
        "VCS_BASE_BRANCH": base,
        "VCS_HEAD_BRANCH": head,
    }
    document = {
        "provider": name,
        "repository": repository,
        "baseBranch": base,
        "headBranch": head,
        "mode": mode,
    }
    mounts = tuple(_ssh(auth)) if method == "ssh" else ()
    return Repository(
        env={key: value for key, value in (env | _ssh_paths(mounts)).items() if value},
        secret_env=tuple(_token(spec, auth)) if method == "token" else (),
        app_token=token,
        mounts=mounts,
        document={key: value for key, value in document.items() if value},
    )


def _mode(spec: VersionControlProviderSpec, policy: VcsPolicy | None) -> str:
    can = spec.capabilities
    mode = (policy.mode if policy else None) or "read-write"
    if can is not None and can.read is False:
        return "none"
    if mode == "read-write" and can is not None and can.write is False:
        return "read-only"
    return mode


def _may_use(spec: VersionControlProviderSpec, repository: str) -> bool:
    policy = spec.repository_policy
    if policy is None:
        return True
    if any(fnmatchcase(repository.lower(), item.lower()) for item in policy.deny or ()):
        return False
    return not policy.allow or any(fnmatchcase(repository.lower(), item.lower()) for item in policy.allow)


def _method(auth: VcsAuth) -> str:
    named = {
        "token": auth.token and auth.token.secret_ref,
        "app": auth.app and auth.app.private_key_secret_ref,
        "ssh": auth.ssh and auth.ssh.private_key_secret_ref,
    }
    return next((name for name, secret in named.items() if secret), "none")


def _token(spec: VersionControlProviderSpec, auth: VcsAuth) -> Iterable[SecretVariable]:
    ref = auth.token.secret_ref if auth.token else None
    if ref is None:
        return
    names = ("VCS_TOKEN", "GITHUB_TOKEN", "GH_TOKEN") if spec.provider == "github" else ("VCS_TOKEN",)
    for name in names:
        yield SecretVariable(name=name, secret=ref.name, key=ref.key or "token")


def _ssh(auth: VcsAuth) -> Iterable[Mount]:
    ssh = auth.ssh
    if ssh is None or ssh.private_key_secret_ref is None:
        return
    key = ssh.private_key_secret_ref
    yield Mount(
        name="jangar-vcs-key",
        path=f"{SSH_DIRECTORY}/key",
        source={
            "secret": {
                "secretName": key.name,
                "defaultMode": 0o440,
                "items": [{"key": key.key or "privateKey", "path": "id"}],
            }
        },
        read_only=True,
    )
    if (hosts := ssh.known_hosts_config_map_ref) is not None:
        items = [{"key": hosts.key or "known_hosts", "path": "known_hosts"}]
        yield Mount(
            name="jangar-vcs-hosts",
            path=f"{SSH_DIRECTORY}/hosts",
            source={"configMap": {"name": hosts.name, "items": items}},
            read_only=True,
        )


def _ssh_paths(mounts: tuple[Mount, ...]) -> dict[str, str]:
    files = {
        "jangar-vcs-key": ("VCS_SSH_KEY_PATH", "id"),
        "jangar-vcs-hosts": ("VCS_SSH_KNOWN_HOSTS_PATH", "known_hosts"),
    }
    return {files[mount.name][0]: f"{mount.path}/{files[mount.name][1]}" for mount in mounts}


def _variables(name: str, spec: VersionControlProviderSpec, method: str, mode: str) -> dict[str, str]:
    defaults, can, auth = spec.defaults, spec.capabilities, spec.auth
    pull = defaults.pull_request if defaults else None
    writes = mode == "read-write"
    opens = (
        writes
        and (can is None or can.pull_requests is not False)
        and (pull is None or pull.enabled is not False)
    )
    user = (auth.username if auth else None) or (
        _USERS.get(spec.provider, "git") if method in {"token", "app"} else ""
    )
    author = (defaults.commit_author_name if defaults else None) or ""
    mail = (defaults.commit_author_email if defaults else None) or ""
    return {
        "VCS_PROVIDER": spec.provider,
        "VCS_PROVIDER_NAME": name,
        "VCS_API_BASE_URL": spec.api_base_url
        or ("https://api.github.com" if spec.provider == "github" else ""),
        "VCS_CLONE_BASE_URL": spec.clone_base_url or "",
        "VCS_WEB_BASE_URL": spec.web_base_url or "",
        "VCS_CLONE_PROTOCOL": spec.clone_protocol or "",
        "VCS_SSH_HOST": spec.ssh_host or "",
        "VCS_SSH_USER": spec.ssh_user or "",
        "VCS_USERNAME": user,
        "GIT_ASKPASS_USERNAME": user,
        "VCS_BRANCH_TEMPLATE": (defaults.branch_template if defaults else None) or "",
        "VCS_BRANCH_CONFLICT_SUFFIX_TEMPLATE": (
            defaults.branch_conflict_suffix_template if defaults else None
        )
        or "",
        "VCS_COMMIT_AUTHOR_NAME": author,
        "VCS_COMMIT_AUTHOR_EMAIL": mail,
        "GIT_AUTHOR_NAME": author,
        "GIT_AUTHOR_EMAIL": mail,
        "GIT_COMMITTER_NAME": author,
        "GIT_COMMITTER_EMAIL": mail,
        "VCS_PR_TITLE_TEMPLATE": (pull.title_template if pull else None) or "",
        "VCS_PR_BODY_TEMPLATE": (pull.body_template if pull else None) or "",
        "VCS_PR_DRAFT": "true" if pull and pull.draft else "false",
        "VCS_WRITE_ENABLED": "true" if writes else "false",
        "VCS_PULL_REQUESTS_ENABLED": "true" if opens else "false",
        "VCS_MODE": mode,
    }
