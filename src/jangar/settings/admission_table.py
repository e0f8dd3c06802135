"""The part of the table of variables that is about the admission of AgentRuns and ToolRuns."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from jangar.domain.policies.images import ImagePattern, parse_pattern
from jangar.domain.policies.placement import parse_node_label_pattern, parse_toleration_pattern
from jangar.domain.policies.policy import Concurrency, Queue, Rate
from jangar.domain.policies.repositories import parse_repository_pattern
from jangar.settings import forms
from jangar.settings.variable import Variable

T = TypeVar("T")

_PREFIX = "JANGAR_AGENTS_CONTROLLER_"
_MOST = 1_000_000
_LABEL_KEY = re.compile(r"[A-Za-z0-9*]([A-Za-z0-9._/*-]*[A-Za-z0-9*])?")
_NAME_PATTERN = re.compile(r"[a-z0-9*]([a-z0-9.*-]*[a-z0-9*])?")
_HOST_PATTERN = re.compile(r"[a-z0-9*]([a-z0-9.*-]*[a-z0-9*])?|\[[0-9a-f:]+\]")
_SECRET = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_CONCURRENCY, _QUEUE, _RATE = Concurrency(), Queue(), Rate()


def _count(name: str, helm_value: str, default: int, sentence: str, *, least: int = 0) -> Variable[int]:
    return Variable(
        name=f"{_PREFIX}{name}",
        form=forms.whole_number(least=least, most=_MOST),
        default=default,
        shown_default=str(default),
        helm_value=f"controller.{helm_value}",
        sentence=sentence,
    )


def _texts(
    name: str, what: str, read: Callable[[str], T], helm_value: str, sentence: str
) -> Variable[tuple[T, ...]]:
    return Variable(
        name=name,
        form=forms.texts(what, read),
        default=(),
        shown_default="",
        helm_value=helm_value,
        sentence=sentence,
    )


def _label_key(text: str) -> str:
    if "*" in text or not _LABEL_KEY.fullmatch(text):
        raise ValueError(f"{text!r} is no key of a label")
    return text


def _label_pattern(text: str) -> str:
    if not _LABEL_KEY.fullmatch(text):
        raise ValueError(f"{text!r} is no pattern of keys of labels")
    return text


def _secret_name(text: str) -> str:
    if not _SECRET.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a Secret")
    return text


def _name_pattern(text: str) -> str:
    if not _NAME_PATTERN.fullmatch(text):
        raise ValueError(f"{text!r} is no pattern of names")
    return text


def _audience_pattern(text: str) -> str:
    if any(each.isspace() for each in text):
        raise ValueError(f"{text!r} is no pattern of audiences")
    return text


def _host_pattern(text: str) -> str:
    if not _HOST_PATTERN.fullmatch(text.lower()):
        raise ValueError(
            f"{text!r} is no host: write it without scheme, port and path, such as ghe.example.com"
        )
    return text.lower()


CONCURRENCY_NAMESPACE = _count(
    "CONCURRENCY_NAMESPACE",
    "concurrency.perNamespace",
    _CONCURRENCY.namespace,
    "How many AgentRuns may be live at once in a namespace.",
    least=1,
)
CONCURRENCY_AGENT = _count(
    "CONCURRENCY_AGENT",
    "concurrency.perAgent",
    _CONCURRENCY.agent,
    "How many AgentRuns of one Agent may be live at once.",
    least=1,
)
CONCURRENCY_CLUSTER = _count(
    "CONCURRENCY_CLUSTER",
    "concurrency.cluster",
    _CONCURRENCY.cluster,
    "How many AgentRuns may be live at once in all namespaces that are looked after.",
    least=1,
)
QUEUE_NAMESPACE = _count(
    "QUEUE_NAMESPACE",
    "queue.perNamespace",
    _QUEUE.namespace,
    "How many waiting AgentRuns of a namespace have a place in the queue; 0 is unbounded.",
)
QUEUE_REPO = _count(
    "QUEUE_REPO",
    "queue.perRepo",
    _QUEUE.repo,
    "How many waiting AgentRuns for a repository have a place in the queue; 0 is unbounded.",
)
QUEUE_CLUSTER = _count(
    "QUEUE_CLUSTER",
    "queue.cluster",
    _QUEUE.cluster,
    "How many waiting AgentRuns have a place in the queue in all; 0 is unbounded.",
)
RATE_WINDOW = Variable(
    name=f"{_PREFIX}RATE_WINDOW_SECONDS",
    form=forms.seconds(least=1),
    default=_RATE.window,
    shown_default=str(_RATE.window // timedelta(seconds=1)),
    helm_value="controller.rate.windowSeconds",
    sentence="The length of time that rates are counted over; it slides.",
)
RATE_NAMESPACE = _count(
    "RATE_NAMESPACE",
    "rate.perNamespace",
    _RATE.namespace,
    "How many AgentRuns of a namespace may be admitted within the window; 0 is unbounded.",
)
RATE_REPO = _count(
    "RATE_REPO",
    "rate.perRepo",
    _RATE.repo,
    "How many AgentRuns for a repository may be admitted within the window; 0 is unbounded.",
)
RATE_CLUSTER = _count(
    "RATE_CLUSTER",
    "rate.cluster",
    _RATE.cluster,
    "How many AgentRuns may be admitted within the window in all; 0 is unbounded.",
)
LABELS_REQUIRED = _texts(
    f"{_PREFIX}LABELS_REQUIRED",
    "keys of labels",
    _label_key,
    "controller.admissionPolicy.labels.required",
    "Labels that every AgentRun must have.",
)
LABELS_ALLOWED = _texts(
    f"{_PREFIX}LABELS_ALLOWED",
    "patterns of keys of labels",
    _label_pattern,
    "controller.admissionPolicy.labels.allowed",
    "The only labels that AgentRuns may have, where * stands for any text; not set, any.",
)
LABELS_DENIED = _texts(
    f"{_PREFIX}LABELS_DENIED",
    "patterns of keys of labels",
    _label_pattern,
    "controller.admissionPolicy.labels.denied",
    "Labels that no AgentRun may have, where * stands for any text.",
)
IMAGES_ALLOWED: Variable[tuple[ImagePattern, ...]] = _texts(
    f"{_PREFIX}IMAGES_ALLOWED",
    "patterns of images",
    parse_pattern,
    "controller.admissionPolicy.images.allowed",
    "The only images that AgentRuns may use, such as ghcr.io/team/*; hosts are exact; not set, any.",
)
IMAGES_DENIED: Variable[tuple[ImagePattern, ...]] = _texts(
    f"{_PREFIX}IMAGES_DENIED",
    "patterns of images",
    parse_pattern,
    "controller.admissionPolicy.images.denied",
    "Images that no AgentRun may use; it wins over those that are allowed.",
)
BLOCKED_SECRETS = _texts(
    f"{_PREFIX}BLOCKED_SECRETS",
    "names of Secrets",
    _secret_name,
    "controller.admissionPolicy.secrets.blocked",
    "Secrets that no AgentRun is ever given, whatever a SecretBinding says.",
)
SERVICE_ACCOUNTS_ALLOWED = _texts(
    f"{_PREFIX}SERVICE_ACCOUNTS_ALLOWED",
    "patterns of names of service accounts",
    _name_pattern,
    "controller.admissionPolicy.serviceAccounts.allowed",
    "The only service accounts that runs may name beside the default one, where * stands for any text; not set, any "
    "but the controllers' own.",
)
OWN_SERVICE_ACCOUNTS = _texts(
    "JANGAR_OWN_SERVICE_ACCOUNTS",
    "names of service accounts",
    _secret_name,
    "",
    "Service accounts of the controllers and the control plane, which no run may use; the chart fills them in.",
)
PRIORITY_CLASSES_ALLOWED = _texts(
    f"{_PREFIX}PRIORITY_CLASSES_ALLOWED",
    "patterns of names of priority classes",
    _name_pattern,
    "controller.admissionPolicy.priorityClasses.allowed",
    "The only priority classes that runs may name, where * stands for any text; not set, any but system-*.",
)
TOLERATIONS_ALLOWED = _texts(
    f"{_PREFIX}TOLERATIONS_ALLOWED",
    "tolerations",
    parse_toleration_pattern,
    "controller.admissionPolicy.tolerations.allowed",
    "Tolerations that runs may ask for, as KEY, KEY=VALUE or KEY=VALUE:EFFECT, where * stands for any text; "
    "not set, none.",
)
NODE_SELECTORS_ALLOWED = _texts(
    f"{_PREFIX}NODE_SELECTORS_ALLOWED",
    "labels of nodes",
    parse_node_label_pattern,
    "controller.admissionPolicy.nodeSelectors.allowed",
    "Labels by which runs may choose nodes, in a node selector or a node affinity, as KEY or KEY=VALUE, where * stands "
    "for any text; not set, none.",
)
RUNTIME_CLASSES_ALLOWED = _texts(
    f"{_PREFIX}RUNTIME_CLASSES_ALLOWED",
    "patterns of names of runtime classes",
    _name_pattern,
    "controller.admissionPolicy.runtimeClasses.allowed",
    "Runtime classes that runs may name, where * stands for any text; not set, none.",
)
TOKEN_AUDIENCES_ALLOWED = _texts(
    f"{_PREFIX}TOKEN_AUDIENCES_ALLOWED",
    "patterns of audiences",
    _audience_pattern,
    "controller.admissionPolicy.tokenAudiences.allowed",
    "Audiences that service account tokens of AgentProviders may have, where * stands for any text; not set, none. "
    "Audiences of the Kubernetes API are never allowed.",
)
PROVIDER_HOSTS_ALLOWED = _texts(
    f"{_PREFIX}PROVIDER_HOSTS_ALLOWED",
    "patterns of host names",
    _host_pattern,
    "controller.admissionPolicy.providerHosts.allowed",
    "Hosts beside api.github.com that a VersionControlProvider may send the sign-in of an app to, where * stands for "
    "any text.",
)
TOOLRUN_LIMITS = Variable(
    name=f"{_PREFIX}TOOLRUN_LIMITS",
    form=forms.one_of("auto", "always", "never"),
    default="auto",
    shown_default="auto",
    helm_value="controller.admissionPolicy.toolRunLimits",
    sentence="Count ToolRuns by the limits of concurrency, rate and queue: always, never, or auto, which counts "
    "them as soon as one of these limits is not its default.",
)
REPOSITORIES_ALLOWED = _texts(
    "JANGAR_GITHUB_REPOS_ALLOWED",
    "repositories",
    parse_repository_pattern,
    "env.vars.JANGAR_GITHUB_REPOS_ALLOWED",
    "The only GitHub repositories that AgentRuns may work on, as owner/name or owner/*; not set, any.",
)
