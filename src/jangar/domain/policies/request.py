"""What one AgentRun or ToolRun asks for, with everything that it names looked up. A value: applies no rule."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretUse:
    """A Secret and the field or object that references it."""

    name: str
    named_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentTerms:
    """What the Agent lets its runs use; an empty list allows all."""

    service_accounts: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    source_providers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What the run would use if it started now."""

    agent: str
    """Empty for a ToolRun."""
    namespace: str = ""
    labels: tuple[str, ...] = ()
    """Keys of its labels."""
    images: tuple[str, ...] = ()
    secrets: tuple[SecretUse, ...] = ()
    bound_secrets: frozenset[str] = frozenset()
    """Those that a SecretBinding permits for it."""
    service_account: str = ""
    """Empty for the default one."""
    priority_class: str = ""
    tolerations: tuple[str, ...] = ()
    """As `KEY=VALUE:EFFECT`, with `*` for a part that means any."""
    node_labels: tuple[str, ...] = ()
    """The labels by which it chooses nodes, as `KEY=VALUE`."""
    runtime_class: str = ""
    token_audiences: tuple[str, ...] = ()
    sign_in_addresses: tuple[str, ...] = ()
    """Addresses that the controllers would send a sign-in to."""
    source_providers: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    """`owner/name` in lower case, or as it was written where it is none; the first one is what limits count by."""
    on_github: bool = True
    """Whether the repositories may be on GitHub."""
    terms: AgentTerms = AgentTerms()
    missing: tuple[str, ...] = ()
    """Referenced objects that do not exist yet, such as `Agent coder`."""

    @property
    def repository(self) -> str | None:
        """What limits of repositories count by."""
        return self.repositories[0] if self.repositories else None
