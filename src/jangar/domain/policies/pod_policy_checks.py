"""Whether a run may have the pod that it asks for: where it runs, how urgent it is, which tokens it gets."""

from collections.abc import Iterator
from typing import Final

from jangar.api.reasons import Reason
from jangar.domain.agentrun.app_sign_in import host_of
from jangar.domain.policies.globs import first_match
from jangar.domain.policies.placement import API_AUDIENCES, allows_node_label, allows_toleration
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.domain.policies.request import RunRequest
from jangar.domain.policies.verdicts import Deny

SYSTEM_PRIORITY: Final = "system-"
"""Classes of the cluster's own pods begin so: they evict the pods of everybody else."""


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


def _deny(reason: Reason, what: str, asked: str, allowed: tuple[str, ...]) -> Deny:
    may = f"only {listed(allowed)}" if allowed else "none"
    return Deny(
        reason=reason,
        message=f"{what} {asked} is not allowed; the operator allows {may}: remove it, or ask the operator to list it",
    )


def listed(names: tuple[str, ...]) -> str:
    """The first five, and how many more there are."""
    shown = names[:5]
    return ", ".join(shown) + (f" and {len(names) - 5} more" if len(names) > len(shown) else "")
