"""Whether a run may run at all, whatever the load: labels, images, Secrets, accounts, placement, source, repository."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from jangar.api.reasons import Reason
from jangar.domain.agentrun.repository import host_of
from jangar.domain.policies.patterns import first_match, is_allowed, matches, parse_image
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.domain.policies.request import ANY, RunRequest
from jangar.domain.policies.verdicts import Deny, Hold

_TOLERATION = re.compile(r"[^=:\s]+(=[^:\s]*)?(:[A-Za-z*]+)?")
_NODE_LABEL = re.compile(r"[^=\s]+(=\S*)?")
API_AUDIENCES: Final = (
    "https://kubernetes.default.svc*",
    "https://kubernetes.default",
    "kubernetes.default.svc*",
    "kubernetes",
    "k3s",
    "api",
)
"""Audiences by which API servers are known; a token for one of them is a sign-in to the cluster."""


def parse_toleration_pattern(text: str) -> str:
    """`KEY[=VALUE][:EFFECT]`; raises ValueError for what is none."""
    if not _TOLERATION.fullmatch(text):
        raise ValueError(f"{text!r} is not a toleration: write KEY, KEY=VALUE or KEY=VALUE:EFFECT")
    return text


def parse_node_label_pattern(text: str) -> str:
    """`KEY[=VALUE]`; raises ValueError for what is none."""
    if not _NODE_LABEL.fullmatch(text):
        raise ValueError(f"{text!r} is not a node label: write KEY or KEY=VALUE")
    return text


def allows_toleration(patterns: Sequence[str], requested: str) -> bool:
    """Whether one of the patterns means the toleration."""
    return any(_covers(_parts(pattern), _parts(requested)) for pattern in patterns)


def allows_node_label(patterns: Sequence[str], requested: str) -> bool:
    """Whether one of the patterns means the label."""
    key, _, value = requested.partition("=")
    return any(_covers((*_key_and_value(pattern), ANY), (key, value, "")) for pattern in patterns)


def _parts(text: str) -> tuple[str, str, str]:
    label, colon, effect = text.rpartition(":")
    key, value = _key_and_value(label if colon else text)
    return key, value, effect if colon else ANY


def _key_and_value(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    return key, value if equals else ANY


def _covers(pattern: tuple[str, str, str], requested: tuple[str, str, str]) -> bool:
    return all(matches(wanted, given) for wanted, given in zip(pattern, requested, strict=True))


SYSTEM_PRIORITY: Final = "system-"
"""Classes of the cluster's own pods begin so: they evict all other pods."""


def pod_denials(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    """Every objection; what the operator set as a default was not asked for and is not judged."""
    yield from _of_priority(request, policy)
    yield from _of_placement(request, policy)
    yield from _of_audiences(request, policy)
    for address in request.sign_in_addresses:
        if not is_allowed_host(address, policy.provider_hosts):
            yield _deny(Reason.HOST_NOT_ALLOWED, "the host of apiBaseUrl", address, policy.provider_hosts)


def _of_priority(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    name, allowed = request.priority_class, policy.pods.priority_classes
    is_plain = not allowed and not name.startswith(SYSTEM_PRIORITY)
    if name and not is_plain and not first_match(allowed, name):
        yield _deny(Reason.PRIORITY_CLASS_NOT_ALLOWED, "the priority class", name, allowed)


def _of_placement(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    rules = policy.pods
    for toleration in request.tolerations:
        if not allows_toleration(rules.tolerations, toleration):
            yield _deny(Reason.TOLERATION_NOT_ALLOWED, "the toleration", toleration, rules.tolerations)
    for label in request.node_labels:
        if not allows_node_label(rules.node_selectors, label):
            yield _deny(Reason.NODE_SELECTOR_NOT_ALLOWED, "the node selector", label, rules.node_selectors)
    name = request.runtime_class
    if name and not first_match(rules.runtime_classes, name):
        yield _deny(Reason.RUNTIME_CLASS_NOT_ALLOWED, "the runtime class", name, rules.runtime_classes)


def _of_audiences(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    for audience in request.token_audiences:
        is_api = first_match(API_AUDIENCES, audience) is not None
        allowed = () if is_api else policy.pods.token_audiences
        if not first_match(allowed, audience):
            yield _deny(Reason.TOKEN_AUDIENCE_NOT_ALLOWED, "the token audience", audience, allowed)


def is_allowed_host(address: str, hosts: tuple[str, ...]) -> bool:
    """Whether the address has a host of the list; what is no address has none."""
    host = host_of(address)
    return host is not None and first_match(hosts, host) is not None


def _deny(reason: Reason, what: str, requested: str, allowed: tuple[str, ...]) -> Deny:
    may = f"only {listed(allowed)}" if allowed else "none"
    return Deny(
        reason=reason,
        message=f"{what} {requested} is not allowed; the operator allows {may}: "
        "remove it, or ask the operator to list it",
    )


def listed(names: tuple[str, ...]) -> str:
    """The first five, and how many more there are."""
    shown = names[:5]
    return ", ".join(shown) + (f" and {len(names) - 5} more" if len(names) > len(shown) else "")


OWN_LABELS = ("jangar.proompteng.ai/", "app.kubernetes.io/managed-by")
"""Labels of the product's own, which no list needs to allow."""


def policy_violation(request: RunRequest, policy: AdmissionPolicy) -> Deny | Hold | None:
    """Why it may not run now; a denial is for good and comes before a wait for what does not exist yet."""
    denial = next(_denials(request, policy), None)
    if denial is not None:
        return denial
    if request.missing:
        return Hold(
            reason=Reason.REFERENCE_NOT_FOUND,
            message=f"{listed(request.missing)} {'do' if len(request.missing) > 1 else 'does'} not exist yet",
        )
    return None


def _denials(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    yield from _of_labels(request, policy)
    yield from _of_images(request, policy)
    yield from _of_service_account(request, policy)
    yield from pod_denials(request, policy)
    yield from _of_sources(request)
    yield from _of_repositories(request, policy)
    yield from _of_secrets(request, policy)


def _of_labels(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    rules = policy.labels
    missing = tuple(key for key in rules.required if key not in request.labels)
    if missing:
        yield Deny(
            reason=Reason.MISSING_REQUIRED_LABELS,
            message=f"policy requires the label {listed(missing)}: add it to metadata.labels of a new run",
        )
    own = tuple(key for key in request.labels if not key.startswith(OWN_LABELS))
    for key in own:
        if pattern := first_match(rules.denied, key):
            yield Deny(
                reason=Reason.LABEL_BLOCKED,
                message=f"the label {key} is denied by policy ({pattern}): remove it",
            )
    for key in own if rules.allowed else ():
        if not first_match(rules.allowed, key):
            yield Deny(
                reason=Reason.LABEL_NOT_ALLOWED,
                message=f"policy allows only the labels {listed(rules.allowed)}, not {key}",
            )


def _of_images(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    rules = policy.images
    if not (rules.allowed or rules.denied):
        return
    for text in request.images:
        try:
            image = parse_image(text)
        except ValueError:
            yield Deny(
                reason=Reason.IMAGE_NOT_ALLOWED,
                message=f"{text!r} is not a valid image reference",
            )
            continue
        for pattern in rules.denied:
            if pattern.denies(image):
                yield Deny(
                    reason=Reason.IMAGE_BLOCKED,
                    message=f"the image {text} is denied by policy ({pattern.written}): use another one",
                )
        if rules.allowed and not any(pattern.allows(image) for pattern in rules.allowed):
            allowed = listed(tuple(item.written for item in rules.allowed))
            yield Deny(
                reason=Reason.IMAGE_NOT_ALLOWED, message=f"policy allows only images of {allowed}, not {text}"
            )


def _of_service_account(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    used = request.service_account or policy.default_service_account
    if used in policy.pods.own_service_accounts and policy.pods.own_namespace in {"", request.namespace}:
        yield Deny(
            reason=Reason.SERVICE_ACCOUNT_NOT_ALLOWED,
            message=f"the service account {used} belongs to the controllers and no run may use it: set another one",
        )
    allowed = policy.pods.service_accounts
    if allowed and used != policy.default_service_account and not first_match(allowed, used):
        yield Deny(
            reason=Reason.SERVICE_ACCOUNT_NOT_ALLOWED,
            message=f"policy allows only the service accounts {listed(allowed)}, not {used}",
        )
    if request.terms.service_accounts and used not in request.terms.service_accounts:
        yield Deny(
            reason=Reason.SERVICE_ACCOUNT_NOT_ALLOWED,
            message=f"Agent {request.agent} allows the service account {listed(request.terms.service_accounts)}, "
            f"not {used}: name it in spec.runtime.config.serviceAccount or in security.allowedServiceAccounts",
        )


def _of_sources(request: RunRequest) -> Iterator[Deny]:
    allowed = request.terms.source_providers
    for source in request.source_providers if allowed else ():
        if source not in allowed:
            yield Deny(
                reason=Reason.IMPLEMENTATION_SOURCE_PROVIDER_NOT_ALLOWED,
                message=f"Agent {request.agent} accepts tasks from {listed(allowed)}, not from {source}",
            )


def _of_repositories(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    for repository in request.repositories if policy.repositories and request.on_github else ():
        if not is_allowed(policy.repositories, repository):
            yield Deny(
                reason=Reason.REPOSITORY_NOT_ALLOWED,
                message=f"JANGAR_GITHUB_REPOS_ALLOWED allows {listed(policy.repositories)}, not {repository}",
            )


def _of_secrets(request: RunRequest, policy: AdmissionPolicy) -> Iterator[Deny]:
    for use in request.secrets:
        if use.name in policy.blocked_secrets:
            yield Deny(
                reason=Reason.SECRET_BLOCKED,
                message=f"the Secret {use.name}, named by {use.named_by}, is blocked by policy: no run may use it",
            )
    for use in request.secrets if request.terms.secrets else ():
        if use.name not in request.terms.secrets:
            yield Deny(
                reason=Reason.SECRET_NOT_ALLOWED,
                message=f"Agent {request.agent} does not allow the Secret {use.name}, named by {use.named_by}: "
                "add it to the Agent's security.allowedSecrets, or do not use it",
            )
    # Where something does not exist yet, the binding may be still to come as well.
    for use in request.secrets if not request.missing else ():
        if use.name not in request.bound_secrets:
            yield Deny(
                reason=Reason.SECRET_NOT_BOUND,
                message=f"no SecretBinding permits the Secret {use.name}, named by {use.named_by}: create one in the "
                f"same namespace with the subject Agent {request.agent} and {use.name} in allowedSecrets, "
                "then start a new run",
            )
