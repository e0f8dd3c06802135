"""Whether a run may run at all, whatever the load: labels, images, Secrets, service account, source, repository."""

from collections.abc import Iterator

from jangar.api.reasons import Reason
from jangar.domain.policies.globs import first_match
from jangar.domain.policies.images import parse_image
from jangar.domain.policies.pod_policy_checks import listed, pod_denials
from jangar.domain.policies.policy import AdmissionPolicy
from jangar.domain.policies.repositories import is_allowed
from jangar.domain.policies.request import RunRequest
from jangar.domain.policies.verdicts import Deny, Hold

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
