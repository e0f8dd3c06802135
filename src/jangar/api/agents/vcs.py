"""VersionControlProvider: a repository host with authentication and access rules."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

from jangar.api.agents import GROUP
from jangar.api.kind import AGE, READY, Column, Kind
from jangar.api.lifecycle import Seconds
from jangar.api.meta import LIST_ATOMIC, ApiModel, ObjectStatus, SecretKeyRef
from jangar.api.phases import DefinitionPhase

MAX_REPOSITORY_PATTERNS = 200

Uri = Annotated[str, Field(json_schema_extra={"format": "uri"})]


class ConfigMapKeyRef(ApiModel):
    """A key of a ConfigMap in the same namespace."""

    name: str = Field(description="Name of the ConfigMap.")
    key: str | None = Field(
        None, description="Key within the ConfigMap. The default depends on the referring field."
    )


class VcsToken(ApiModel):
    """Authentication with a token."""

    secret_ref: SecretKeyRef | None = Field(
        None, description="Secret with the token. The key defaults to token."
    )
    type: Literal["pat", "fine_grained", "api_token", "access_token"] | None = Field(
        None, description="Type of the token: pat, fine_grained, api_token or access_token."
    )


class VcsApp(ApiModel):
    """Authentication as a GitHub App, with short-lived tokens."""

    app_id: int | str | None = Field(None, description="ID of the app.")
    installation_id: int | str | None = Field(None, description="ID of the app's installation.")
    private_key_secret_ref: SecretKeyRef | None = Field(
        None, description="Secret with the app's private key. The key defaults to privateKey."
    )
    token_ttl_seconds: Seconds | None = Field(
        None, description="Time in seconds until a token is replaced. Default: when it expires."
    )


class VcsSsh(ApiModel):
    """Authentication with an SSH key."""

    private_key_secret_ref: SecretKeyRef | None = Field(
        None, description="Secret with the private key. The key defaults to privateKey."
    )
    known_hosts_config_map_ref: ConfigMapKeyRef | None = Field(
        None, description="ConfigMap with the hosts' public keys. The key defaults to known_hosts."
    )


class VcsAuth(ApiModel):
    """Authentication at the repository host."""

    method: Literal["token", "app", "ssh", "none"] | None = Field(
        None,
        description="Authentication method: token, app, ssh or none. Default: the first of token, app and ssh "
        "that names a Secret, otherwise none.",
    )
    username: str | None = Field(
        None, description="User name for the token. Default: depends on the provider."
    )
    token: VcsToken | None = Field(None, description="Authentication with a token.")
    app: VcsApp | None = Field(None, description="Authentication as a GitHub App.")
    ssh: VcsSsh | None = Field(None, description="Authentication with an SSH key.")


class VcsCapabilities(ApiModel):
    """Allowed repository operations."""

    read: bool | None = Field(None, description="Allow reading repositories. Default true.")
    write: bool | None = Field(None, description="Allow pushing branches. Default true.")
    pull_requests: bool | None = Field(None, description="Allow opening pull requests. Default true.")


class RepositoryPolicy(ApiModel):
    """Allowed and denied repositories."""

    allow: list[str] | None = Field(
        None,
        description="Allowed repositories; * matches any text. Empty or unset allows all.",
        max_length=MAX_REPOSITORY_PATTERNS,
        json_schema_extra=LIST_ATOMIC,
    )
    deny: list[str] | None = Field(
        None,
        description="Denied repositories; * matches any text. Overrides allow.",
        max_length=MAX_REPOSITORY_PATTERNS,
        json_schema_extra=LIST_ATOMIC,
    )


class PullRequestDefaults(ApiModel):
    """Settings of pull requests."""

    enabled: bool | None = Field(None, description="Open a pull request. Default true.")
    draft: bool | None = Field(None, description="Open pull requests as drafts. Default false.")
    title_template: str | None = Field(None, description="Template of the pull request's title.")
    body_template: str | None = Field(None, description="Template of the pull request's description.")


class VcsDefaults(ApiModel):
    """Defaults of a run's fields."""

    base_branch: str | None = Field(None, description="Branch that runs start from, such as main.")
    branch_template: str | None = Field(
        None, description="Template of the branch that runs push to, such as agents/{{ agentRun.name }}."
    )
    branch_conflict_suffix_template: str | None = Field(
        None, description="Template of the suffix to append when another run uses that branch."
    )
    commit_author_name: str | None = Field(None, description="Author name of commits.")
    commit_author_email: str | None = Field(None, description="Author email address of commits.")
    pull_request: PullRequestDefaults | None = Field(None, description="Settings of pull requests.")


class VersionControlProviderSpec(ApiModel):
    """A repository host."""

    provider: Literal["github", "gitlab", "bitbucket", "gitea", "generic"] = Field(
        description="Type of the host: github, gitlab, bitbucket, gitea or generic."
    )
    api_base_url: Uri | None = Field(
        None, description="Base URL of the host's API. Default for github: its public API."
    )
    clone_base_url: Uri | None = Field(None, description="Base URL for cloning repositories.")
    web_base_url: Uri | None = Field(None, description="Base URL of the host's web interface.")
    clone_protocol: Literal["https", "ssh"] | None = Field(
        None, description="Protocol for cloning repositories: https or ssh."
    )
    ssh_host: str | None = Field(None, description="Host name for cloning over SSH.")
    ssh_user: str | None = Field(None, description="User name for cloning over SSH.")
    auth: VcsAuth | None = Field(None, description="Authentication at the repository host.")
    capabilities: VcsCapabilities | None = Field(None, description="Allowed repository operations.")
    repository_policy: RepositoryPolicy | None = Field(None, description="Allowed and denied repositories.")
    defaults: VcsDefaults | None = Field(None, description="Defaults for runs that do not set these values.")


class VersionControlProviderStatus(ObjectStatus):
    """Whether the host can be used."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    last_validated_at: datetime | None = Field(None, description="When the credentials were last checked.")


VERSION_CONTROL_PROVIDER = Kind(
    group=GROUP,
    name="VersionControlProvider",
    plural="versioncontrolproviders",
    short_names=("vcp",),
    description="A repository host, such as GitHub, with authentication and access rules.",
    spec=VersionControlProviderSpec,
    status=VersionControlProviderStatus,
    columns=(
        READY,
        Column(name="Provider", path=".spec.provider", description="Type of the host."),
        AGE,
        Column(
            name="Auth",
            path=".spec.auth.method",
            description="Authentication at the repository host.",
            priority=1,
        ),
    ),
)
