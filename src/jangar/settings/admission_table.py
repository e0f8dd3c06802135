"""Environment variables that configure the admission of AgentRuns and ToolRuns."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from jangar.domain.policies.patterns import ImagePattern, parse_pattern, parse_repository_pattern
from jangar.domain.policies.policy import Concurrency, Queue, Rate
from jangar.domain.policies.policy_checks import parse_node_label_pattern, parse_toleration_pattern
from jangar.settings import forms
from jangar.settings.variable import Variable

T = TypeVar("T")

_PREFIX = "JANGAR_AGENTS_CONTROLLER_"
_MAX_COUNT = 1_000_000
_LABEL_KEY = re.compile(r"[A-Za-z0-9*]([A-Za-z0-9._/*-]*[A-Za-z0-9*])?")
_NAME_PATTERN = re.compile(r"[a-z0-9*]([a-z0-9.*-]*[a-z0-9*])?")
_HOST_PATTERN = re.compile(r"[a-z0-9*]([a-z0-9.*-]*[a-z0-9*])?|\[[0-9a-f:]+\]")
_OBJECT_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_CONCURRENCY, _QUEUE, _RATE = Concurrency(), Queue(), Rate()


def _count(name: str, helm_value: str, default: int, description: str, *, minimum: int = 0) -> Variable[int]:
    return Variable(
        name=f"{_PREFIX}{name}",
        form=forms.integer(minimum=minimum, maximum=_MAX_COUNT),
        default=default,
        shown_default=str(default),
        helm_value=f"controller.{helm_value}",
        description=description,
    )


def _list(
    name: str, items: str, read: Callable[[str], T], helm_value: str, description: str
) -> Variable[tuple[T, ...]]:
    return Variable(
        name=name,
        form=forms.list_of(items, read),
        default=(),
        shown_default="",
        helm_value=helm_value,
        description=description,
    )


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


CONCURRENCY_NAMESPACE = _count(
    "CONCURRENCY_NAMESPACE",
    "concurrency.perNamespace",
    _CONCURRENCY.namespace,
    "Maximum number of active AgentRuns per namespace.",
    minimum=1,
)
CONCURRENCY_AGENT = _count(
    "CONCURRENCY_AGENT",
    "concurrency.perAgent",
    _CONCURRENCY.agent,
    "Maximum number of active AgentRuns per Agent.",
    minimum=1,
)
CONCURRENCY_CLUSTER = _count(
    "CONCURRENCY_CLUSTER",
    "concurrency.cluster",
    _CONCURRENCY.cluster,
    "Maximum number of active AgentRuns across all watched namespaces.",
    minimum=1,
)
QUEUE_NAMESPACE = _count(
    "QUEUE_NAMESPACE",
    "queue.perNamespace",
    _QUEUE.namespace,
    "Maximum number of queued AgentRuns per namespace; 0 is unlimited.",
)
QUEUE_REPO = _count(
    "QUEUE_REPO",
    "queue.perRepo",
    _QUEUE.repo,
    "Maximum number of queued AgentRuns per repository; 0 is unlimited.",
)
QUEUE_CLUSTER = _count(
    "QUEUE_CLUSTER",
    "queue.cluster",
    _QUEUE.cluster,
    "Maximum number of queued AgentRuns in total; 0 is unlimited.",
)
RATE_WINDOW = Variable(
    name=f"{_PREFIX}RATE_WINDOW_SECONDS",
    form=forms.seconds(minimum=1),
    default=_RATE.window,
    shown_default=str(_RATE.window // timedelta(seconds=1)),
    helm_value="controller.rate.windowSeconds",
    description="Length of the sliding window for the rate limits.",
)
RATE_NAMESPACE = _count(
    "RATE_NAMESPACE",
    "rate.perNamespace",
    _RATE.namespace,
    "Maximum number of AgentRuns admitted per namespace within the window; 0 is unlimited.",
)
RATE_REPO = _count(
    "RATE_REPO",
    "rate.perRepo",
    _RATE.repo,
    "Maximum number of AgentRuns admitted per repository within the window; 0 is unlimited.",
)
RATE_CLUSTER = _count(
    "RATE_CLUSTER",
    "rate.cluster",
    _RATE.cluster,
    "Maximum number of AgentRuns admitted in total within the window; 0 is unlimited.",
)
LABELS_REQUIRED = _list(
    f"{_PREFIX}LABELS_REQUIRED",
    "label keys",
    _label_key,
    "controller.admissionPolicy.labels.required",
    "Require these labels on every AgentRun.",
)
LABELS_ALLOWED = _list(
    f"{_PREFIX}LABELS_ALLOWED",
    "label key patterns",
    _label_pattern,
    "controller.admissionPolicy.labels.allowed",
    "Allow only these labels on AgentRuns; * matches any text. Unset allows any label.",
)
LABELS_DENIED = _list(
    f"{_PREFIX}LABELS_DENIED",
    "label key patterns",
    _label_pattern,
    "controller.admissionPolicy.labels.denied",
    "Reject AgentRuns with any of these labels; * matches any text.",
)
IMAGES_ALLOWED: Variable[tuple[ImagePattern, ...]] = _list(
    f"{_PREFIX}IMAGES_ALLOWED",
    "image patterns",
    parse_pattern,
    "controller.admissionPolicy.images.allowed",
    "Allow only these images in AgentRuns, as in ghcr.io/team/*. Hosts match exactly. Unset allows any image.",
)
IMAGES_DENIED: Variable[tuple[ImagePattern, ...]] = _list(
    f"{_PREFIX}IMAGES_DENIED",
    "image patterns",
    parse_pattern,
    "controller.admissionPolicy.images.denied",
    "Reject AgentRuns that use any of these images. Takes precedence over the allowed images.",
)
BLOCKED_SECRETS = _list(
    f"{_PREFIX}BLOCKED_SECRETS",
    "Secret names",
    _object_name,
    "controller.admissionPolicy.secrets.blocked",
    "Never pass these Secrets to an AgentRun, even if a SecretBinding allows them.",
)
SERVICE_ACCOUNTS_ALLOWED = _list(
    f"{_PREFIX}SERVICE_ACCOUNTS_ALLOWED",
    "service account name patterns",
    _name_pattern,
    "controller.admissionPolicy.serviceAccounts.allowed",
    "Allow runs to use only these service accounts and the default one; * matches any text. Unset allows any "
    "except those of Jangar itself.",
)
OWN_SERVICE_ACCOUNTS = _list(
    "JANGAR_OWN_SERVICE_ACCOUNTS",
    "service account names",
    _object_name,
    "",
    "Service accounts of the controllers and the control plane, which runs must not use. The chart sets it.",
)
PRIORITY_CLASSES_ALLOWED = _list(
    f"{_PREFIX}PRIORITY_CLASSES_ALLOWED",
    "priority class name patterns",
    _name_pattern,
    "controller.admissionPolicy.priorityClasses.allowed",
    "Allow runs to use only these priority classes; * matches any text. Unset allows any except system-*.",
)
TOLERATIONS_ALLOWED = _list(
    f"{_PREFIX}TOLERATIONS_ALLOWED",
    "tolerations",
    parse_toleration_pattern,
    "controller.admissionPolicy.tolerations.allowed",
    "Allow runs to set these tolerations, as KEY, KEY=VALUE or KEY=VALUE:EFFECT; * matches any text. "
    "Unset allows none.",
)
NODE_SELECTORS_ALLOWED = _list(
    f"{_PREFIX}NODE_SELECTORS_ALLOWED",
    "node labels",
    parse_node_label_pattern,
    "controller.admissionPolicy.nodeSelectors.allowed",
    "Allow runs to select nodes by these labels, in a node selector or node affinity, as KEY or KEY=VALUE; * matches "
    "any text. Unset allows none.",
)
RUNTIME_CLASSES_ALLOWED = _list(
    f"{_PREFIX}RUNTIME_CLASSES_ALLOWED",
    "runtime class name patterns",
    _name_pattern,
    "controller.admissionPolicy.runtimeClasses.allowed",
    "Allow runs to use these runtime classes; * matches any text. Unset allows none.",
)
TOKEN_AUDIENCES_ALLOWED = _list(
    f"{_PREFIX}TOKEN_AUDIENCES_ALLOWED",
    "audience patterns",
    _audience_pattern,
    "controller.admissionPolicy.tokenAudiences.allowed",
    "Allow these audiences for the service account tokens of AgentProviders; * matches any text. Unset allows none. "
    "Audiences of the Kubernetes API are never allowed.",
)
PROVIDER_HOSTS_ALLOWED = _list(
    f"{_PREFIX}PROVIDER_HOSTS_ALLOWED",
    "host name patterns",
    _host_pattern,
    "controller.admissionPolicy.providerHosts.allowed",
    "Allow a VersionControlProvider to send GitHub App credentials to these hosts, in addition to api.github.com; "
    "* matches any text.",
)
TOOLRUN_LIMITS = Variable(
    name=f"{_PREFIX}TOOLRUN_LIMITS",
    form=forms.one_of("auto", "always", "never"),
    default="auto",
    shown_default="auto",
    helm_value="controller.admissionPolicy.toolRunLimits",
    description="Count ToolRuns toward the concurrency, rate and queue limits: always, never, or auto, which counts "
    "them if any of these limits differs from its default.",
)
REPOSITORIES_ALLOWED = _list(
    "JANGAR_GITHUB_REPOS_ALLOWED",
    "repositories",
    parse_repository_pattern,
    "env.vars.JANGAR_GITHUB_REPOS_ALLOWED",
    "Allow AgentRuns to use only these GitHub repositories, as owner/name or owner/*. Unset allows any.",
)
