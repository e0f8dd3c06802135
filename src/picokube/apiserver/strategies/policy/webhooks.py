"""What is wrong with a webhook configuration, in kube-apiserver's words. Pure.

Expressions of match conditions are not compiled: nobody here asks a webhook.
"""

import re
from typing import Final
from urllib.parse import urlsplit

from picokube.apiserver.kinds.names import label_1035_problems, qualified_name_problems, subdomain_problems
from picokube.apiserver.protocol.messages import Json
from picokube.apiserver.strategies.checks import duplicate, invalid, label_selector, not_supported, required
from picokube.schema import FieldError
from picokube.schema.errors import too_many

MAX_MATCH_CONDITIONS: Final = 64
MAX_TIMEOUT_SECONDS: Final = 30
MAX_PORT: Final = 65535
DEFAULT_PORT: Final = 443
MIN_NAME_SEGMENTS: Final = 3
_REVIEWS: Final = ("v1", "v1beta1")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
_FORM: Final = "; desired format: https://host[/path]"


def webhook_problems(hooks: list[Json] | tuple[Json, ...], *, mutating: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    names: set[str] = set()
    for n, hook in enumerate(hooks):
        field, name = f"webhooks[{n}]", hook.get("name", "")
        problems += _hook_problems(field, hook, mutating=mutating)
        problems += _version_problems(
            f"{field}.admissionReviewVersions", hook.get("admissionReviewVersions") or []
        )
        if name in names:
            problems.append(duplicate(f"{field}.name", name))
        elif name:
            names.add(name)
    return problems


def _hook_problems(field: str, hook: Json, *, mutating: bool) -> list[FieldError]:
    problems = _name_problems(f"{field}.name", hook.get("name", ""))
    for n, rule in enumerate(hook.get("rules") or ()):
        problems += _rule_problems(f"{field}.rules[{n}]", rule)
    problems += _choice_problems(field, hook, "failurePolicy", ("Fail", "Ignore"))
    problems += _choice_problems(field, hook, "matchPolicy", ("Equivalent", "Exact"))
    if hook.get("sideEffects") is None:
        detail = f"must specify one of {', '.join(_SIDE_EFFECTS)}"
        problems.append(required(f"{field}.sideEffects", detail))
    problems += _choice_problems(field, hook, "sideEffects", _SIDE_EFFECTS)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= MAX_TIMEOUT_SECONDS:
        detail = f"the timeout value must be between 1 and {MAX_TIMEOUT_SECONDS} seconds"
        problems.append(invalid(f"{field}.timeoutSeconds", seconds, detail))
    for name in ("namespaceSelector", "objectSelector"):
        problems += label_selector(f"{field}.{name}", hook.get(name))
    if mutating:
        problems += _choice_problems(field, hook, "reinvocationPolicy", ("IfNeeded", "Never"))
    problems += _client_problems(f"{field}.clientConfig", hook.get("clientConfig") or {})
    return problems + _condition_problems(f"{field}.matchConditions", hook.get("matchConditions") or ())


def _choice_problems(field: str, hook: Json, name: str, allowed: tuple[str, ...]) -> list[FieldError]:
    value = hook.get(name)
    return [] if value is None or value in allowed else [not_supported(f"{field}.{name}", value, allowed)]


def _name_problems(field: str, name: str) -> list[FieldError]:
    if not name:
        return [required(field)]
    if wrong := subdomain_problems(name):
        return [invalid(field, name, ",".join(wrong))]
    if len(name.split(".")) < MIN_NAME_SEGMENTS:
        return [invalid(field, name, "should be a domain with at least three segments separated by dots")]
    return []


def _version_problems(field: str, versions: list[str]) -> list[FieldError]:
    if not versions:
        return [required(field, f"must specify one of {', '.join(_REVIEWS)}")]
    problems: list[FieldError] = []
    for n, version in enumerate(versions):
        if version in versions[:n]:
            problems.append(invalid(f"{field}[{n}]", version, "duplicate version"))
            continue
        problems += [
            invalid(f"{field}[{n}]", version, label_1035_problem)
            for label_1035_problem in label_1035_problems(version)
        ]
    if not set(versions) & set(_REVIEWS):
        problems.append(invalid(field, versions, f"must include at least one of {', '.join(_REVIEWS)}"))
    return problems


def _rule_problems(field: str, rule: Json) -> list[FieldError]:
    operations = rule.get("operations") or []
    problems = _wildcard_problems(f"{field}.operations", operations, "operations")
    problems += [
        not_supported(f"{field}.operations[{n}]", item, _OPERATIONS)
        for n, item in enumerate(operations)
        if item not in _OPERATIONS
    ]
    problems += _wildcard_problems(f"{field}.apiGroups", rule.get("apiGroups") or [], "API groups")
    versions = rule.get("apiVersions") or []
    problems += _wildcard_problems(f"{field}.apiVersions", versions, "API versions")
    problems += [required(f"{field}.apiVersions[{n}]") for n, item in enumerate(versions) if not item]
    problems += _resource_problems(f"{field}.resources", rule.get("resources") or [])
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        problems.append(not_supported(f"{field}.scope", scope, _SCOPES))
    return problems


def _wildcard_problems(field: str, values: list[str], what: str) -> list[FieldError]:
    if not values:
        return [required(field)]
    if len(values) > 1 and "*" in values:
        return [invalid(field, values, f"if '*' is present, must not specify other {what}")]
    return []


def _resource_problems(field: str, resources: list[str]) -> list[FieldError]:
    problems = [] if resources else [required(field)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    for n, item in enumerate(resources):
        if not item:
            problems.append(required(f"{field}[{n}]"))
            continue
        resource, slash, inner = item.partition("/")
        if not slash:
            continue
        covering = [f"{resource}/*"] if resource in whole else []
        covering += [f"*/{inner}"] if inner in everywhere else []
        problems += [
            invalid(f"{field}[{n}]", item, f"if '{cover}' is present, must not specify {item}")
            for cover in covering
        ]
        whole |= {resource} if inner == "*" else set()
        everywhere |= {inner} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        detail = "if '*/*' is present, must not specify other resources"
        problems.append(invalid(field, resources, detail))
    plain = [item for item in resources if item and "/" not in item]
    if "*" in plain and plain[-1] != "*":
        detail = "if '*' is present, must not specify other resources without subresources"
        problems.append(invalid(field, resources, detail))
    return problems


def _client_problems(field: str, client: Json) -> list[FieldError]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        return [required(field, "exactly one of url or service is required")]
    if url is not None:
        return _url_problems(f"{field}.url", url)
    return _service_problems(f"{field}.service", service or {})


def _url_problems(field: str, url: str) -> list[FieldError]:
    if bad := _ESCAPE.search(url):
        why = f'url must be a valid URL: parse "{url}": invalid URL escape "{bad[0]}"{_FORM}'
        return [required(field, why)]
    try:
        parts = urlsplit(url)
    except ValueError as error:
        return [required(field, f'url must be a valid URL: parse "{url}": {error}{_FORM}')]
    user, at, host = parts.netloc.rpartition("@")
    problems: list[FieldError] = []
    if parts.scheme != "https":
        detail = f"'https' is the only allowed URL scheme{_FORM}"
        problems.append(invalid(field, parts.scheme, detail))
    if not host:
        problems.append(invalid(field, "", f"host must be specified{_FORM}"))
    if at:
        problems.append(invalid(field, user, "user information is not permitted in the URL"))
    if parts.fragment:
        problems.append(invalid(field, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        problems.append(invalid(field, parts.query, "query parameters are not permitted in the URL"))
    return problems


def _service_problems(field: str, service: Json) -> list[FieldError]:
    problems = [required(f"{field}.{name}") for name in ("name", "namespace") if not service.get(name)]
    port = service.get("port", DEFAULT_PORT)
    if not 1 <= port <= MAX_PORT:
        detail = f"port is not valid: must be between 1 and {MAX_PORT}, inclusive"
        problems.append(invalid(f"{field}.port", port, detail))
    path = service.get("path")
    if path in (None, "", "/"):
        return problems
    where = f"{field}.path"
    if path == "//":
        return [*problems, invalid(where, path, "segment[0] may not be empty")]
    if not path.startswith("/"):
        problems.append(invalid(where, path, "must start with a '/'"))
    for n, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            problems.append(invalid(where, path, f"segment[{n}] may not be empty"))
            continue
        problems += [
            invalid(where, path, f"segment[{n}]: {subdomain_problem}")
            for subdomain_problem in subdomain_problems(segment)
        ]
    return problems


def _condition_problems(field: str, conditions: list[Json] | tuple[Json, ...]) -> list[FieldError]:
    problems: list[FieldError] = []
    if len(conditions) > MAX_MATCH_CONDITIONS:
        problems.append(too_many(field, len(conditions), MAX_MATCH_CONDITIONS))
    names: set[str] = set()
    for n, item in enumerate(conditions):
        name = item.get("name", "")
        if not item.get("expression", "").strip():
            problems.append(required(f"{field}[{n}].expression"))
        if not name:
            problems.append(required(f"{field}[{n}].name"))
            continue
        problems += [invalid(f"{field}[{n}].name", name, wrong) for wrong in qualified_name_problems(name)]
        if name in names:
            problems.append(duplicate(f"{field}[{n}].name", name))
        names.add(name)
    return problems
