"""The settings of the admission policy for AgentRuns and ToolRuns."""

# ruff: noqa: RUF009 (`setting` returns a dataclass field, not a value that instances share)

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from jangar.domain.policies.patterns import ImagePattern, parse_pattern, parse_repository_pattern
from jangar.domain.policies.policy import Concurrency, Queue, Rate
from jangar.domain.policies.policy_checks import parse_node_label_pattern, parse_toleration_pattern
from jangar.settings import forms
from jangar.settings.variables import setting

T = TypeVar("T")

_PREFIX = "JANGAR_AGENTS_CONTROLLER_"
_MAX_COUNT = 1_000_000
_LABEL_KEY = re.compile(r"[A-Za-z0-9*]([A-Za-z0-9._/*-]*[A-Za-z0-9*])?")
_NAME_PATTERN = re.compile(r"[a-z0-9*]([a-z0-9.*-]*[a-z0-9*])?")
_HOST_PATTERN = re.compile(r"[a-z0-9*]([a-z0-9.*-]*[a-z0-9*])?|\[[0-9a-f:]+\]")
_OBJECT_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_CONCURRENCY, _QUEUE, _RATE = Concurrency(), Queue(), Rate()


def _count(name: str, helm_value: str, default: int, description: str, *, minimum: int = 0) -> int:
    form = forms.integer(minimum=minimum, maximum=_MAX_COUNT)
    return setting(f"{_PREFIX}{name}", form, default, description, helm_value=f"controller.{helm_value}")


def _list(
    name: str, items: str, read: Callable[[str], T], helm_value: str, description: str
) -> tuple[T, ...]:
    return setting(name, forms.list_of(items, read), (), description, helm_value=helm_value)


def _label_key(text: str) -> str:
    if "*" in text or not _LABEL_KEY.fullmatch(text):
        raise ValueError(f"{text!r} is not a label key")
    return text


def _label_pattern(text: str) -> str:
    if not _LABEL_KEY.fullmatch(text):
        raise ValueError(f"{text!r} is not a label key pattern")
    return text


def _object_name(text: str) -> str:
    if not _OBJECT_NAME.fullmatch(text):
        raise ValueError(f"{text!r} is not a valid name")
    return text


def _name_pattern(text: str) -> str:
    if not _NAME_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is not a name pattern")
    return text


def _audience_pattern(text: str) -> str:
    if any(character.isspace() for character in text):
        raise ValueError(f"{text!r} is not an audience pattern")
    return text


def _host_pattern(text: str) -> str:
    if not _HOST_PATTERN.fullmatch(text.lower()):
        raise ValueError(f"{text!r} is not a host: omit the scheme, port and path, as in ghe.example.com")
    return text.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """Limits and allow lists for AgentRuns and ToolRuns; unset ones have their defaults."""

    concurrency_namespace: int = _count(
        "CONCURRENCY_NAMESPACE",
        "concurrency.perNamespace",
        _CONCURRENCY.namespace,
        "Maximum number of active AgentRuns per namespace.",
        minimum=1,
    )
    concurrency_agent: int = _count(
        "CONCURRENCY_AGENT",
        "concurrency.perAgent",
        _CONCURRENCY.agent,
        "Maximum number of active AgentRuns per Agent.",
        minimum=1,
    )
    concurrency_cluster: int = _count(
        "CONCURRENCY_CLUSTER",
        "concurrency.cluster",
        _CONCURRENCY.cluster,
        "Maximum number of active AgentRuns across all watched namespaces.",
        minimum=1,
    )
    queue_namespace: int = _count(
        "QUEUE_NAMESPACE",
        "queue.perNamespace",
        _QUEUE.namespace,
        "Maximum number of queued AgentRuns per namespace; 0 is unlimited.",
    )
    queue_repo: int = _count(
        "QUEUE_REPO",
        "queue.perRepo",
        _QUEUE.repo,
        "Maximum number of queued AgentRuns per repository; 0 is unlimited.",
    )
    queue_cluster: int = _count(
        "QUEUE_CLUSTER",
        "queue.cluster",
        _QUEUE.cluster,
        "Maximum number of queued AgentRuns in total; 0 is unlimited.",
    )
    rate_window: timedelta = setting(
        f"{_PREFIX}RATE_WINDOW_SECONDS",
        forms.seconds(minimum=1),
        _RATE.window,
        "Length of the sliding window for the rate limits.",
        helm_value="controller.rate.windowSeconds",
    )
    rate_namespace: int = _count(
        "RATE_NAMESPACE",
        "rate.perNamespace",
        _RATE.namespace,
        "Maximum number of AgentRuns admitted per namespace within the window; 0 is unlimited.",
    )
    rate_repo: int = _count(
        "RATE_REPO",
        "rate.perRepo",
        _RATE.repo,
        "Maximum number of AgentRuns admitted per repository within the window; 0 is unlimited.",
    )
    rate_cluster: int = _count(
        "RATE_CLUSTER",
        "rate.cluster",
        _RATE.cluster,
        "Maximum number of AgentRuns admitted in total within the window; 0 is unlimited.",
    )
    labels_required: tuple[str, ...] = _list(
        f"{_PREFIX}LABELS_REQUIRED",
        "label keys",
        _label_key,
        "controller.admissionPolicy.labels.required",
        "Require these labels on every AgentRun.",
    )
    labels_allowed: tuple[str, ...] = _list(
        f"{_PREFIX}LABELS_ALLOWED",
        "label key patterns",
        _label_pattern,
        "controller.admissionPolicy.labels.allowed",
        "Allow only these labels on AgentRuns; * matches any text. Unset allows any label.",
    )
    labels_denied: tuple[str, ...] = _list(
        f"{_PREFIX}LABELS_DENIED",
        "label key patterns",
        _label_pattern,
        "controller.admissionPolicy.labels.denied",
        "Reject AgentRuns with any of these labels; * matches any text.",
    )
    images_allowed: tuple[ImagePattern, ...] = _list(
        f"{_PREFIX}IMAGES_ALLOWED",
        "image patterns",
        parse_pattern,
        "controller.admissionPolicy.images.allowed",
        "Allow only these images in AgentRuns, as in ghcr.io/team/*. Hosts match exactly. Unset allows any image.",
    )
    images_denied: tuple[ImagePattern, ...] = _list(
        f"{_PREFIX}IMAGES_DENIED",
        "image patterns",
        parse_pattern,
        "controller.admissionPolicy.images.denied",
        "Reject AgentRuns that use any of these images. Takes precedence over the allowed images.",
    )
    blocked_secrets: tuple[str, ...] = _list(
        f"{_PREFIX}BLOCKED_SECRETS",
        "Secret names",
        _object_name,
        "controller.admissionPolicy.secrets.blocked",
        "Never pass these Secrets to an AgentRun, even if a SecretBinding allows them.",
    )
    service_accounts_allowed: tuple[str, ...] = _list(
        f"{_PREFIX}SERVICE_ACCOUNTS_ALLOWED",
        "service account name patterns",
        _name_pattern,
        "controller.admissionPolicy.serviceAccounts.allowed",
        "Allow runs to use only these service accounts and the default one; * matches any text. Unset allows any "
        "except those of Jangar itself.",
    )
    own_service_accounts: tuple[str, ...] = _list(
        "JANGAR_OWN_SERVICE_ACCOUNTS",
        "service account names",
        _object_name,
        "",
        "Service accounts of the controllers and the control plane, which runs must not use. The chart sets it.",
    )
    priority_classes_allowed: tuple[str, ...] = _list(
        f"{_PREFIX}PRIORITY_CLASSES_ALLOWED",
        "priority class name patterns",
        _name_pattern,
        "controller.admissionPolicy.priorityClasses.allowed",
        "Allow runs to use only these priority classes; * matches any text. Unset allows any except system-*.",
    )
    tolerations_allowed: tuple[str, ...] = _list(
        f"{_PREFIX}TOLERATIONS_ALLOWED",
        "tolerations",
        parse_toleration_pattern,
        "controller.admissionPolicy.tolerations.allowed",
        "Allow runs to set these tolerations, as KEY, KEY=VALUE or KEY=VALUE:EFFECT; * matches any text. "
        "Unset allows none.",
    )
    node_selectors_allowed: tuple[str, ...] = _list(
        f"{_PREFIX}NODE_SELECTORS_ALLOWED",
        "node labels",
        parse_node_label_pattern,
        "controller.admissionPolicy.nodeSelectors.allowed",
        "Allow runs to select nodes by these labels, in a node selector or node affinity, as KEY or KEY=VALUE; * "
        "matches any text. Unset allows none.",
    )
    runtime_classes_allowed: tuple[str, ...] = _list(
        f"{_PREFIX}RUNTIME_CLASSES_ALLOWED",
        "runtime class name patterns",
        _name_pattern,
        "controller.admissionPolicy.runtimeClasses.allowed",
        "Allow runs to use these runtime classes; * matches any text. Unset allows none.",
    )
    token_audiences_allowed: tuple[str, ...] = _list(
        f"{_PREFIX}TOKEN_AUDIENCES_ALLOWED",
        "audience patterns",
        _audience_pattern,
        "controller.admissionPolicy.tokenAudiences.allowed",
        "Allow these audiences for the service account tokens of AgentProviders; * matches any text. Unset allows "
        "none. Audiences of the Kubernetes API are never allowed.",
    )
    provider_hosts_allowed: tuple[str, ...] = _list(
        f"{_PREFIX}PROVIDER_HOSTS_ALLOWED",
        "host name patterns",
        _host_pattern,
        "controller.admissionPolicy.providerHosts.allowed",
        "Allow a VersionControlProvider to send GitHub App credentials to these hosts, in addition to api.github.com; "
        "* matches any text.",
    )
    toolrun_limits: str = setting(
        f"{_PREFIX}TOOLRUN_LIMITS",
        forms.one_of("auto", "always", "never"),
        "auto",
        "Count ToolRuns toward the concurrency, rate and queue limits: always, never, or auto, which counts "
        "them if any of these limits differs from its default.",
        helm_value="controller.admissionPolicy.toolRunLimits",
    )
    repositories_allowed: tuple[str, ...] = _list(
        "JANGAR_GITHUB_REPOS_ALLOWED",
        "repositories",
        parse_repository_pattern,
        "env.vars.JANGAR_GITHUB_REPOS_ALLOWED",
        "Allow AgentRuns to use only these GitHub repositories, as owner/name or owner/*. Unset allows any.",
    )
