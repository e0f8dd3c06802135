"""Validates the spec of a Job, or of the Jobs that a CronJob creates."""

from typing import Final

from picokube.apiserver.kinds.names import subdomain_problems
from picokube.apiserver.protocol.messages import Json
from picokube.apiserver.strategies.checks import (
    Problems,
    Rule,
    check,
    duplicate,
    given,
    invalid,
    members,
    non_negative,
    not_supported,
    one_of,
    qualified_name,
    required,
    supported,
)
from picokube.apiserver.strategies.pods.spec import template_problems
from picokube.schema.errors import OMITTED, too_many

_MAX_PARALLELISM: Final = 100_000
_MAX_RULES: Final = 20
_ACTIONS: Final = ("Count", "FailIndex", "FailJob", "Ignore")
_INDEXED: Final = "requires indexed completion mode"


def job_spec_problems(field: str, spec: Json) -> Problems:
    yield from check(field, spec, *_NUMBERS)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{field}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    yield from check(field, spec, ("managedBy", given(_domain_path)))
    yield from _mode_problems(field, spec)
    if spec.get("podFailurePolicy") is not None:
        yield from _failure_problems(f"{field}.podFailurePolicy.rules", spec)
    yield from _success_problems(f"{field}.successPolicy", spec)
    failed_only = spec.get("podFailurePolicy") is not None
    replacement = given(supported("Failed") if failed_only else supported("Failed", "TerminatingOrFailed"))
    yield from check(field, spec, ("podReplacementPolicy", replacement), ("template", template_problems))
    yield from _restart_problems(f"{field}.template.spec.restartPolicy", spec)


_NUMBERS: Final[tuple[tuple[str, Rule], ...]] = tuple(
    (name, non_negative)
    for name in (
        "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
        "backoffLimitPerIndex", "maxFailedIndexes",
    )
)  # fmt: skip


def _domain_path(field: str, path: str) -> Problems:
    domain, slash, rest = path.partition("/")
    if not path:
        yield required(field)
    elif not slash or not domain or not rest:
        yield invalid(field, path, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from (invalid(field, domain, problem) for problem in subdomain_problems(domain))


def _mode_problems(field: str, spec: Json) -> Problems:
    mode, completions, failed = (
        spec.get(name) for name in ("completionMode", "completions", "maxFailedIndexes")
    )
    if mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                yield invalid(f"{field}.{name}", spec[name], _INDEXED)
    elif mode != "Indexed":
        yield not_supported(f"{field}.completionMode", mode, ("NonIndexed", "Indexed"))
    else:
        if completions is None:
            yield required(f"{field}.completions", "when completion mode is Indexed")
        if (spec.get("parallelism") or 0) > _MAX_PARALLELISM:
            detail = f"must be less than or equal to {_MAX_PARALLELISM} when completion mode is Indexed"
            yield invalid(f"{field}.parallelism", spec["parallelism"], detail)
        if failed is not None and completions is not None and failed > completions:
            yield invalid(f"{field}.maxFailedIndexes", failed, "must be less than or equal to completions")


def _failure_problems(field: str, spec: Json) -> Problems:
    pod = (spec.get("template") or {}).get("spec") or {}
    names = {item.get("name") for group in ("containers", "initContainers") for item in pod.get(group) or ()}
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > _MAX_RULES:
        yield too_many(field, len(rules), _MAX_RULES)
    for n, rule in enumerate(rules):
        place, action = f"{field}[{n}]", rule.get("action", "")
        if not action:
            shown = " ".join(f'"{name}"' for name in _ACTIONS)
            yield required(f"{place}.action", f"valid values: [{shown}]")
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{place}.action", action, "requires the backoffLimitPerIndex to be set")
        else:
            yield from supported(*_ACTIONS)(f"{place}.action", action)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if codes is not None:
            yield from _exit_code_problems(f"{place}.onExitCodes", codes, names)
        for m, pattern in enumerate(conditions):
            yield from _CONDITION(f"{place}.onPodConditions[{m}]", pattern)
        if codes is not None and conditions:
            yield invalid(place, OMITTED, "specifying both OnExitCodes and OnPodConditions is not supported")
        if codes is None and not conditions:
            yield invalid(place, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required")


_CONDITION: Final = members(("type", qualified_name), ("status", supported("False", "True", "Unknown")))


def _exit_code_problems(field: str, codes: Json, names: set[str | None]) -> Problems:
    operator, values = codes.get("operator", ""), codes.get("values") or []
    if not operator:
        yield required(f"{field}.operator", 'valid values: ["In" "NotIn"]')
    else:
        yield from supported("In", "NotIn")(f"{field}.operator", operator)
    container = codes.get("containerName")
    if container is not None and container not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{field}.containerName", container, detail)
    if not values:
        yield invalid(f"{field}.values", [], "at least one value is required")
    for n, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{field}.values[{n}]", value, "must not be 0 for the In operator")
        if value in values[:n]:
            yield duplicate(f"{field}.values[{n}]", value)
    if values != sorted(values):
        yield invalid(f"{field}.values", values, "must be ordered")


def _success_problems(field: str, spec: Json) -> Problems:
    policy = spec.get("successPolicy")
    if policy is None:
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid(field, dict(policy), _INDEXED)
    elif not policy.get("rules"):
        detail = "at least one rules must be specified when the successPolicy is specified"
        yield required(f"{field}.rules", detail)
    else:
        for n, rule in enumerate(policy["rules"]):
            if rule.get("succeededCount") is None and rule.get("succeededIndexes") is None:
                detail = "at least one of succeededCount or succeededIndexes must be specified"
                yield required(f"{field}.rules[{n}]", detail)


def _restart_problems(field: str, spec: Json) -> Problems:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        yield required(field, 'valid values: "OnFailure", "Never"')
        return
    yield from one_of("OnFailure", "Never")(field, policy)
    if policy == "OnFailure" and spec.get("podFailurePolicy") is not None:
        yield invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')
