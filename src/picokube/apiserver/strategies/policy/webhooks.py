"""Webhook configurations: validated and stored; no webhook is ever called, so match conditions are not compiled."""

import re
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from picokube.apiserver.kinds.names import subdomain_problems
from picokube.apiserver.protocol.messages import Json, JsonObject
from picokube.apiserver.strategies.checks import (
    MAX_PORT,
    Problems,
    Rule,
    check,
    dns_1035_label,
    each,
    given,
    invalid,
    label_selector,
    members,
    need,
    qualified_name,
    required,
    supported,
    within,
)
from picokube.apiserver.strategies.kind import StoredOnly
from picokube.apiserver.strategies.printing import created
from picokube.schema.errors import too_many

MAX_MATCH_CONDITIONS: Final = 64
MAX_TIMEOUT_SECONDS: Final = 30
DEFAULT_PORT: Final = 443
MIN_NAME_SEGMENTS: Final = 3
_REVIEWS: Final = ("v1", "v1beta1")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")
_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}")
_FORM: Final = "; desired format: https://host[/path]"


def _name(field: str, name: str) -> Problems:
    if wrong := subdomain_problems(name):
        yield invalid(field, name, ",".join(wrong))
    elif len(name.split(".")) < MIN_NAME_SEGMENTS:
        yield invalid(field, name, "should be a domain with at least three segments separated by dots")


def _review_versions(field: str, versions: list[str] | None) -> Problems:
    if not versions:
        yield required(field, f"must specify one of {', '.join(_REVIEWS)}")
        return
    for n, version in enumerate(versions):
        if version in versions[:n]:
            yield invalid(f"{field}[{n}]", version, "duplicate version")
        else:
            yield from dns_1035_label(f"{field}[{n}]", version)
    if not set(versions) & set(_REVIEWS):
        yield invalid(field, versions, f"must include at least one of {', '.join(_REVIEWS)}")


def _wildcard(what: str) -> Rule:
    def check_wildcard(field: str, values: list[str]) -> Problems:
        if len(values) > 1 and "*" in values:
            yield invalid(field, values, f"if '*' is present, must not specify other {what}")

    return need(check_wildcard)


def _resources(field: str, resources: list[str]) -> Problems:
    whole: set[str] = set()
    everywhere: set[str] = set()
    for n, item in enumerate(resources):
        resource, slash, inner = item.partition("/")
        if not item:
            yield required(f"{field}[{n}]")
        if not slash:
            continue
        covering = [f"{resource}/*"] if resource in whole else []
        covering += [f"*/{inner}"] if inner in everywhere else []
        for cover in covering:
            yield invalid(f"{field}[{n}]", item, f"if '{cover}' is present, must not specify {item}")
        whole |= {resource} if inner == "*" else set()
        everywhere |= {inner} if resource == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(field, resources, "if '*/*' is present, must not specify other resources")
    plain = [item for item in resources if item and "/" not in item]
    if "*" in plain and plain[-1] != "*":
        detail = "if '*' is present, must not specify other resources without subresources"
        yield invalid(field, resources, detail)


def _url(field: str, url: str) -> Problems:
    if bad := _ESCAPE.search(url):
        why = f'url must be a valid URL: parse "{url}": invalid URL escape "{bad[0]}"{_FORM}'
        yield required(field, why)
        return
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(field, f'url must be a valid URL: parse "{url}": {error}{_FORM}')
        return
    user, at, host = parts.netloc.rpartition("@")
    for is_wrong, value, detail in (
        (parts.scheme != "https", parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"),
        (not host, "", f"host must be specified{_FORM}"),
        (at, user, "user information is not permitted in the URL"),
        (parts.fragment, parts.fragment, "fragments are not permitted in the URL"),
        (parts.query, parts.query, "query parameters are not permitted in the URL"),
    ):
        if is_wrong:
            yield invalid(field, value, detail)


def _path(field: str, path: str | None) -> Problems:
    if path in (None, "", "/"):
        return
    if path == "//":
        yield invalid(field, path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield invalid(field, path, "must start with a '/'")
    for n, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid(field, path, f"segment[{n}] may not be empty")
        else:
            yield from (
                invalid(field, path, f"segment[{n}]: {problem}") for problem in subdomain_problems(segment)
            )


_SERVICE_RULES: Final = (
    ("name", need()),
    ("namespace", need()),
    ("port", within(1, MAX_PORT, f"port is not valid: must be between 1 and {MAX_PORT}, inclusive")),
    ("path", _path),
)


def _client(field: str, client: Json | None) -> Problems:
    url, service = (client or {}).get("url"), (client or {}).get("service")
    if (url is None) == (service is None):
        yield required(field, "exactly one of url or service is required")
    elif url is not None:
        yield from _url(f"{field}.url", url)
    else:
        yield from check(f"{field}.service", service, *_SERVICE_RULES)


def _expression(field: str, expression: str | None) -> Problems:
    if not (expression or "").strip():
        yield required(field)


def _conditions(field: str, conditions: list[Json] | None) -> Problems:
    if len(conditions or ()) > MAX_MATCH_CONDITIONS:
        yield too_many(field, len(conditions or ()), MAX_MATCH_CONDITIONS)
    rule = members(("expression", _expression), ("name", need(qualified_name)))
    yield from each(rule, unique="name")(field, conditions)


_RULE: Final = members(
    ("operations", _wildcard("operations")),
    ("operations", each(supported("*", "CONNECT", "CREATE", "DELETE", "UPDATE"))),
    ("apiGroups", _wildcard("API groups")),
    ("apiVersions", _wildcard("API versions")),
    ("apiVersions", each(need())),
    ("resources", need(_resources)),
    ("scope", given(supported("*", "Cluster", "Namespaced"))),
)
_TIMEOUT: Final = f"the timeout value must be between 1 and {MAX_TIMEOUT_SECONDS} seconds"


def _side_effects(field: str, value: str | None) -> Problems:
    if value is None:
        yield required(field, f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    else:
        yield from supported(*_SIDE_EFFECTS)(field, value)


def _webhook(*own: tuple[str, Rule]) -> Rule:
    return members(
        ("name", need(_name)),
        ("rules", each(_RULE)),
        ("failurePolicy", given(supported("Fail", "Ignore"))),
        ("matchPolicy", given(supported("Equivalent", "Exact"))),
        ("sideEffects", _side_effects),
        ("timeoutSeconds", within(1, MAX_TIMEOUT_SECONDS, _TIMEOUT)),
        ("namespaceSelector", label_selector),
        ("objectSelector", label_selector),
        *own,
        ("clientConfig", _client),
        ("matchConditions", _conditions),
        ("admissionReviewVersions", _review_versions),
    )


class ValidatingWebhookConfiguration(StoredOnly):
    plural: ClassVar = "webhooks"
    rules: ClassVar = (("webhooks", each(_webhook(), unique="name")),)
    defaults: ClassVar = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10}

    def default(self, obj: JsonObject) -> None:
        for hook in obj.get("webhooks") or ():
            for name, value in self.defaults.items():
                hook.setdefault(name, value)
            for name in ("namespaceSelector", "objectSelector"):
                hook.setdefault(name, {})
            for rule in hook.get("rules") or ():
                rule.setdefault("scope", "*")

    def table_cells(self, obj: JsonObject) -> list[Any]:
        return [len(obj.get("webhooks") or ()), created(obj)]


class MutatingWebhookConfiguration(ValidatingWebhookConfiguration):
    rules: ClassVar = (
        (
            "webhooks",
            each(_webhook(("reinvocationPolicy", given(supported("IfNeeded", "Never")))), unique="name"),
        ),
    )
    defaults: ClassVar = ValidatingWebhookConfiguration.defaults | {"reinvocationPolicy": "Never"}
