"""VersionControlProvider: a host of repositories, how to sign in there, and what may be done."""

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
    key: str | None = Field(None, description="Key within the ConfigMap; each use has its own default.")


class VcsToken(ApiModel):
    """Sign-in by token."""

    secret_ref: SecretKeyRef | None = Field(
        None, description="Secret that holds the token; the key defaults to token."
    )
    type: Literal["pat", "fine_grained", "api_token", "access_token"] | None = Field(
        None, description="Kind of token: pat, fine_grained, api_token or access_token."
    )


class VcsApp(ApiModel):
    """Sign-in as a GitHub App, with short-lived tokens."""

    app_id: int | str | None = Field(None, description="Id of the app.")
    installation_id: int | str | None = Field(None, description="Id of the app's installation.")
    private_key_secret_ref: SecretKeyRef | None = Field(
        None, description="Secret that holds the app's private key; the key defaults to privateKey."
    )
    token_ttl_seconds: Seconds | None = Field(
        None, description="Seconds that a token is used before a new one is made. Default: until it expires."
    )


class VcsSsh(ApiModel):
    """Sign-in by SSH key."""

    private_key_secret_ref: SecretKeyRef | None = Field(
        None, description="Secret that holds the private key; the key defaults to privateKey."
    )
    known_hosts_config_map_ref: ConfigMapKeyRef | None = Field(
        None, description="ConfigMap that holds the hosts' public keys; the key defaults to known_hosts."
    )


class VcsAuth(ApiModel):
    """How to sign in."""

    method: Literal["token", "app", "ssh", "none"] | None = Field(
        None,
        description="How to sign in: token, app, ssh or none. Default: the first of token, app and ssh that "
        "names a Secret, else none.",
    )
    username: str | None = Field(
        None, description="User name that goes with the token. Default: what the provider expects."
    )
    token: VcsToken | None = Field(None, description="Sign-in by token.")
    app: VcsApp | None = Field(None, description="Sign-in as a GitHub App.")
    ssh: VcsSsh | None = Field(None, description="Sign-in by SSH key.")


class VcsCapabilities(ApiModel):
    """What may be done with repositories."""

    read: bool | None = Field(None, description="Whether repositories may be read. Default true.")
    write: bool | None = Field(None, description="Whether branches may be pushed. Default true.")
    pull_requests: bool | None = Field(None, description="Whether pull requests may be opened. Default true.")


class RepositoryPolicy(ApiModel):
    """Which repositories may be used."""

    allow: list[str] | None = Field(
        None,
        description="Repositories that may be used, where * stands for any text; empty or unset allows all.",
        max_length=MAX_REPOSITORY_PATTERNS,
        json_schema_extra=LIST_ATOMIC,
    )
    deny: list[str] | None = Field(
        None,
        description="Repositories that may not be used, where * stands for any text; it wins over allow.",
        max_length=MAX_REPOSITORY_PATTERNS,
        json_schema_extra=LIST_ATOMIC,
    )


class PullRequestDefaults(ApiModel):
    """How pull requests are opened."""

    enabled: bool | None = Field(None, description="Whether a pull request is opened. Default true.")
    draft: bool | None = Field(None, description="true opens it as a draft. Default false.")
    title_template: str | None = Field(None, description="Template of its title.")
    body_template: str | None = Field(None, description="Template of its text.")


class VcsDefaults(ApiModel):
    """What a run gets where it says nothing itself."""

    base_branch: str | None = Field(None, description="Branch that work starts from, such as main.")
    branch_template: str | None = Field(
        None, description="Template of the branch that work goes to, such as agents/{{ agentRun.name }}."
    )
    branch_conflict_suffix_template: str | None = Field(
        None, description="Template of what is appended when another run uses that branch."
    )
    commit_author_name: str | None = Field(None, description="Name of the author of commits.")
    commit_author_email: str | None = Field(None, description="Mail address of the author of commits.")
    pull_request: PullRequestDefaults | None = Field(None, description="How pull requests are opened.")


class VersionControlProviderSpec(ApiModel):
    """A host of repositories."""

    provider: Literal["github", "gitlab", "bitbucket", "gitea", "generic"] = Field(
        description="What the host is: github, gitlab, bitbucket, gitea or generic."
    )
    api_base_url: Uri | None = Field(
        None, description="Address of the host's API. Default for github: its public API."
    )
    clone_base_url: Uri | None = Field(None, description="Address that repositories are cloned from.")
    web_base_url: Uri | None = Field(None, description="Address at which people read repositories.")
    clone_protocol: Literal["https", "ssh"] | None = Field(
        None, description="How repositories are cloned: https or ssh."
    )
    ssh_host: str | None = Field(None, description="Host name for cloning by ssh.")
    ssh_user: str | None = Field(None, description="User name for cloning by ssh.")
    auth: VcsAuth | None = Field(None, description="How to sign in.")
    capabilities: VcsCapabilities | None = Field(None, description="What may be done with repositories.")
    repository_policy: RepositoryPolicy | None = Field(None, description="Which repositories may be used.")
    defaults: VcsDefaults | None = Field(None, description="What a run gets where it says nothing itself.")


class VersionControlProviderStatus(ObjectStatus):
    """Whether the host can be used."""

    phase: DefinitionPhase | None = Field(None, description="Ready or Invalid.")
    last_validated_at: datetime | None = Field(None, description="When the sign-in was last checked.")


VERSION_CONTROL_PROVIDER = Kind(
    group=GROUP,
    name="VersionControlProvider",
    plural="versioncontrolproviders",
    short_names=("vcp",),
    description="A host of repositories, such as GitHub, with sign-in and rules of use.",
    spec=VersionControlProviderSpec,
    status=VersionControlProviderStatus,
    columns=(
        READY,
        Column(name="Provider", path=".spec.provider", description="What the host is."),
        AGE,
        Column(name="Auth", path=".spec.auth.method", description="How to sign in.", priority=1),
    ),
)
