"""What is wrong with the spec of a job, or of the jobs that a cron job makes."""

from typing import Final

from picokube.apiserver.kinds.names import qualified_name_problems, subdomain_problems
from picokube.apiserver.protocol.messages import Json
from picokube.apiserver.strategies.checks import duplicate, invalid, non_negative, not_supported, required
from picokube.apiserver.strategies.pods.spec import template_problems
from picokube.schema import FieldError
from picokube.schema.errors import OMITTED, too_many

_NUMBERS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex", "maxFailedIndexes",
)  # fmt: skip
_MAX_PARALLELISM: Final = 100_000
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_INDEXED: Final = "requires indexed completion mode"


def job_spec_problems(field: str, spec: Json) -> list[FieldError]:
    problems: list[FieldError] = []
    for name in _NUMBERS:
        problems += non_negative(f"{field}.{name}", spec.get(name))
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        problems.append(required(f"{field}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        problems += _domain_path_problems(f"{field}.managedBy", spec["managedBy"])
    problems += _mode_problems(field, spec)
    if spec.get("podFailurePolicy") is not None:
        problems += _failure_problems(f"{field}.podFailurePolicy.rules", spec)
    problems += _success_problems(f"{field}.successPolicy", spec)
    problems += _replacement_problems(f"{field}.podReplacementPolicy", spec)
    template = spec.get("template") or {}
    problems += template_problems(f"{field}.template", template)
    return [*problems, *_restart_problems(f"{field}.template.spec.restartPolicy", spec)]


def _domain_path_problems(field: str, path: str) -> list[FieldError]:
    if not path:
        return [required(field)]
    domain, slash, rest = path.partition("/")
    if not slash or not domain or not rest:
        return [invalid(field, path, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    return [invalid(field, domain, subdomain_problem) for subdomain_problem in subdomain_problems(domain)]


def _mode_problems(field: str, spec: Json) -> list[FieldError]:
    mode = spec.get("completionMode")
    problems: list[FieldError] = []
    if mode not in (None, "NonIndexed", "Indexed"):
        problems.append(not_supported(f"{field}.completionMode", mode, ("NonIndexed", "Indexed")))
    if mode == "Indexed":
        if spec.get("completions") is None:
            problems.append(required(f"{field}.completions", "when completion mode is Indexed"))
        if (spec.get("parallelism") or 0) > _MAX_PARALLELISM:
            detail = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is Indexed"
            problems.append(invalid(f"{field}.parallelism", spec["parallelism"], detail))
        failed = spec.get("maxFailedIndexes")
        if failed is not None and spec.get("completions") is not None and failed > spec["completions"]:
            problems.append(
                invalid(f"{field}.maxFailedIndexes", failed, "must be less than or equal to completions")
            )
    elif mode in (None, "NonIndexed"):
        problems += [
            invalid(f"{field}.{name}", spec[name], _INDEXED)
            for name in ("backoffLimitPerIndex", "maxFailedIndexes")
            if spec.get(name) is not None
        ]
    return problems


def _failure_problems(field: str, spec: Json) -> list[FieldError]:
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {item.get("name") for group in ("containers", "initContainers") for item in pod.get(group) or ()}
    rules = spec["podFailurePolicy"].get("rules") or ()
    problems = [too_many(field, len(rules), 20)] if len(rules) > 20 else []  # noqa: PLR2004 - kube's limit
    for n, rule in enumerate(rules):
        place, action = f"{field}[{n}]", rule.get("action", "")
        if not action:
            problems.append(required(f"{place}.action", f"valid values: [{' '.join(_quoted(*_ACTIONS))}]"))
        elif action == "FailIndex":
            if spec.get("backoffLimitPerIndex") is None:
                problems.append(
                    invalid(f"{place}.action", action, "requires the backoffLimitPerIndex to be set")
                )
        elif action not in _ACTIONS:
            problems.append(not_supported(f"{place}.action", action, _ACTIONS))
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            problems += _exit_code_problems(f"{place}.onExitCodes", codes, names)
        for m, pattern in enumerate(conditions):
            problems += _pattern_problems(f"{place}.onPodConditions[{m}]", pattern)
        if codes is not None and conditions:
            problems.append(
                invalid(place, OMITTED, "specifying both OnExitCodes and OnPodConditions is not supported")
            )
        if codes is None and not conditions:
            problems.append(
                invalid(place, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required")
            )
    return problems


def _quoted(*names: str) -> list[str]:
    return [f'"{name}"' for name in names]


def _pattern_problems(field: str, pattern: Json) -> list[FieldError]:
    kind, allowed = pattern.get("type", ""), ("False", "True", "Unknown")
    problems = [invalid(f"{field}.type", kind, problem) for problem in qualified_name_problems(kind)]
    if pattern.get("status") not in allowed:
        problems.append(not_supported(f"{field}.status", pattern.get("status", ""), allowed))
    return problems


def _exit_code_problems(field: str, codes: Json, names: set[str | None]) -> list[FieldError]:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    problems: list[FieldError] = []
    if not operator:
        problems.append(required(f"{field}.operator", 'valid values: ["In" "NotIn"]'))
    elif operator not in ("In", "NotIn"):
        problems.append(not_supported(f"{field}.operator", operator, ("In", "NotIn")))
    container = codes.get("containerName")
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        problems.append(invalid(f"{field}.containerName", container, detail))
    place = f"{field}.values"
    if not values:
        problems.append(invalid(place, [], "at least one value is required"))
    for n, value in enumerate(values):
        if operator == "In" and value == 0:
            problems.append(invalid(f"{place}[{n}]", value, "must not be 0 for the In operator"))
        if value in values[:n]:
            problems.append(duplicate(f"{place}[{n}]", value))
    if values != sorted(values):
        problems.append(invalid(place, values, "must be ordered"))
    return problems


def _success_problems(field: str, spec: Json) -> list[FieldError]:
    policy = spec.get("successPolicy")
    if policy is None:
        return []
    if spec.get("completionMode") != "Indexed":
        return [invalid(field, dict(policy), _INDEXED)]
    rules = policy.get("rules") or ()
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        return [required(f"{field}.rules", detail)]
    detail = "at least one of succeededCount or succeededIndexes must be specified"
    return [
        required(f"{field}.rules[{n}]", detail)
        for n, rule in enumerate(rules)
        if rule.get("succeededCount") is None and rule.get("succeededIndexes") is None
    ]


def _replacement_problems(field: str, spec: Json) -> list[FieldError]:
    policy = spec.get("podReplacementPolicy")
    allowed = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return [] if policy is None or policy in allowed else [not_supported(field, policy, allowed)]


def _restart_problems(field: str, spec: Json) -> list[FieldError]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(field, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(field, policy, ("OnFailure", "Never"))]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []
