"""What an agent is asked to do: the task's text with its parameters, and which of them it requires. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from jangar.api.agents.implementation import ImplementationText

MAX_VALUE_BYTES = 2048

_ALIASES: Mapping[str, tuple[str, ...]] = {
    "repository": ("repo", "issueRepository"),
    "issueNumber": ("issue", "issue_number", "issueId"),
    "issueTitle": ("title", "issue_title"),
    "issueBody": ("body", "issue_body"),
    "issueUrl": ("url", "issue_url"),
    "base": ("baseBranch", "base_branch", "baseRef"),
    "head": ("headBranch", "head_branch", "headRef"),
    "stage": ("codexStage",),
}
"""Names that the runner knows, and the names under which they are given, too."""
EVENT_KEYS = tuple(_ALIASES)
_PARAMETER = re.compile(r"\{\{\s*parameters\.([A-Za-z0-9_-]+)\s*\}\}")
MAX_TEXT = 400_000
"""Characters that a task's text may fill in to: it stands twice in one ConfigMap."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A task, ready to be handed to an agent."""

    implementation: ImplementationText
    text: str
    parameters: Mapping[str, str]
    """As the run gives them."""
    facts: Mapping[str, str]
    """The parameters under every name that they are known by."""
    missing: tuple[str, ...] = ()
    """Required parameters without a value."""
    too_large: bool = False
    """Whether the text would be larger than its bound once filled in; then it is not."""


def task_of(implementation: ImplementationText, parameters: Mapping[str, str]) -> Task:
    """The task of a run; a name that has a value of its own keeps it."""
    facts = dict(parameters)
    for name, others in _ALIASES.items():
        _fill(facts, name, next((facts[other] for other in others if facts.get(other)), None))
    _fill_from_source(facts, implementation)
    contract = implementation.contract
    for mapping in (contract.mappings if contract else None) or ():
        _fill(facts, mapping.to, facts.get(mapping.from_))
    required = (contract.required_keys if contract else None) or ()
    text = _text(implementation.text, parameters)
    return Task(
        implementation=implementation,
        text=implementation.text if text is None else text,
        too_large=text is None,
        parameters=dict(parameters),
        facts=facts,
        missing=tuple(name for name in required if not facts.get(name)),
    )


def _text(text: str, parameters: Mapping[str, str]) -> str | None:
    """The text with its parameters; None if it would be too large, which is known before it is made."""
    size = len(text)
    for found in _PARAMETER.finditer(text):
        size += len(parameters.get(found[1], found[0])) - len(found[0])
    if size > MAX_TEXT:
        return None
    return _PARAMETER.sub(lambda found: parameters.get(found[1], found[0]), text)


def too_long(parameters: Mapping[str, str]) -> list[str]:
    """Names of those whose values are."""
    return [name for name, value in parameters.items() if len(value.encode()) > MAX_VALUE_BYTES]


def parameter_problem(parameters: Mapping[str, str]) -> str | None:
    """What is wrong with the values themselves."""
    long = too_long(parameters)
    return f"parameter {long[0]} has more than {MAX_VALUE_BYTES} bytes" if long else None


def _fill(facts: dict[str, str], name: str, value: str | None) -> None:
    if value and not facts.get(name):
        facts[name] = value


def _fill_from_source(facts: dict[str, str], implementation: ImplementationText) -> None:
    source = implementation.source
    if source is None:
        return
    if source.provider == "github" and (found := _github_issue(source.external_id or "")):
        repository, number = found
        _fill(facts, "repository", repository)
        _fill(facts, "issueNumber", number)
    _fill(facts, "issueUrl", source.url)
    _fill(facts, "issueTitle", implementation.summary)


def _github_issue(external_id: str) -> tuple[str, str] | None:
    """Repository and number of `owner/name#12`."""
    repository, _, number = external_id.partition("#")
    inner = repository[1:-1]
    written = "/" in inner and not any(item.isspace() for item in repository)
    return (repository, number) if written and number.isdecimal() else None
