import pytest

from picokube.schema import CompiledSchema, admit, check, check_status

TIME, SPAN, DAY = ({"type": "string", "format": item} for item in ("date-time", "duration", "date"))
TEXTS = {"type": "array", "items": {"type": "string"}}
SPEC = {
    "at": "2024-05-06T07:08:09.5Z", "span": "1h30m", "words": "2 days", "day": "2024-02-29", "l": ["b", "a"],
    "m": {"a": "b"}, "namespace": "x", "s": "1.2.3",
}  # fmt: skip


def errors(rule, value=SPEC, **how):
    properties = {
        "at": TIME, "span": SPAN, "words": SPAN, "day": DAY, "l": TEXTS, "namespace": {"type": "string"},
        "m": {"type": "object", "additionalProperties": {"type": "string"}}, "s": {"type": "string"},
    }  # fmt: skip
    rules = [{"rule": rule, **how}]
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": rules}
    schema = CompiledSchema.of({"type": "object", "properties": {"spec": spec}})
    return [item.detail for item in check(schema, {"spec": value})]


@pytest.mark.parametrize(
    "rule",
    [
        "self.at > timestamp('2024-05-06T07:08:09Z') && self.at.getFullYear() == 2024",
        "self.span == duration('90m') && self.words == duration('48h')",
        "self.day == timestamp('2024-02-29T00:00:00Z') && self.day < self.at",
        "self.at + self.span - self.at == self.span",
        "[self.at].exists(x, x == self.at) && {'a': self.span}.a.getMinutes() == 90",
        "self.l.all(i, x, self.l.exists(j, y, i != j && x != y))",
        "self.l.existsOne(i, x, x == 'a') && self.l.sortBy(x, x) == ['a', 'b']",
        "self.m.transformList(k, v, k + v) == ['ab'] && self.l.transformList(i, x, i > 0, x) == ['a']",
        "self.m.transformMap(k, v, v + v) == {'a': 'bb'} && self.l.transformMap(i, x, x)[1] == 'a'",
        "self.l.transformMapEntry(i, x, {x: i}).a == 1",
        "self.namespace == 'x' && has(self.namespace) && self.?namespace.orValue('') == 'x'",
        "ip('10.1.2.3').family() == 4 && cidr('10.0.0.0/8').containsIP('10.1.2.3') && !isIP('::ffff:1.2.3.4')",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && string(cidr('10.0.0.9/8').masked()) == '10.0.0.0/8'",
        "ip('::1').isLoopback() && ip('fe80::1').isLinkLocalUnicast() && ip('8.8.8.8').isGlobalUnicast()",
        "ip('224.0.0.5').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast() && ip('::').isUnspecified()",
        "ip.isCanonical('::1') && !ip.isCanonical('::01') && cidr('::1/64').prefixLength() == 64",
        "semver(self.s).major() == 1 && semver('v1.02', true).minor() == 2 && !isSemver('1.2')",
        "semver('1.2.3-a.9').isLessThan(semver('1.2.3-a.10')) && semver('1.2.3+x') == semver(self.s)",
        "sign(quantity('-1k')) == -1 && quantity('1k').compareTo(quantity('999')) == 1",
    ],
)
def test_rules_know_the_values_of_kubernetes(rule):
    """Times, addresses, versions, quantities, maps by key and value."""
    assert errors(rule) == []


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("ip(self.s).family() == 4", "IP Address"),
        ("ip('::ffff:1.2.3.4').family() == 6", "IPv4-mapped IPv6 address"),
        ("ip('fe80::1%a').family() == 6", "with zone value is not allowed"),
        ("cidr(self.s).prefixLength() == 4", "no '/'"),
        ("cidr('10.0.0.0/99').prefixLength() == 4", "unable to parse"),
        ("semver(self.namespace).major() == 1", "No Major.Minor.Patch elements found"),
        ("semver('1.2.x').major() == 1", "Invalid version"),
        ("self.l.transformMapEntry(i, x, {'a': i}).size() == 1", "insert failed"),
    ],
)
def test_rules_fail_on_values_that_are_none_of_them(rule, problem):
    """The rule is named with what went wrong."""
    assert [problem in error and rule in error for error in errors(rule)] == [True]


def test_an_optional_old_value_may_hold_times():
    """A rule that is asked on create too."""
    rule = "!oldSelf.hasValue() || oldSelf.value().at < self.at"
    assert errors(rule, optionalOldSelf=True) == []


def test_status_is_judged_by_itself():
    """A message about a status that was written names its field from the status on; what is wrong elsewhere is not."""
    number = {"type": "object", "properties": {"n": {"type": "integer"}}}
    schema = CompiledSchema.of({"type": "object", "properties": {"spec": number, "status": number}})
    old = {"spec": {"n": "x"}, "status": {"n": 1}}
    found = check_status(schema, {"spec": {"n": "x"}, "status": {"n": "many"}}, old=old)
    assert [item.message for item in found] == [
        'status.n: Invalid value: "string": n in body must be of type integer: "string"'
    ]
    assert found[0].path == ("status", "n")
    assert check_status(schema, {"spec": {"n": "x"}, "status": {"n": 2}}, old=old) == []
    whole = check_status(schema, {"spec": {}, "status": 5}, old=old)
    assert [item.field for item in whole] == ["status"]


def test_metadata_of_an_embedded_resource_has_known_fields_only():
    """Other fields are dropped with a warning; empty ones silently."""
    inner = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    schema = CompiledSchema.of({"type": "object", "properties": {"spec": inner}})
    owners = [{"name": "a", "odd": 1}]
    meta = {"name": "a", "odd": 1, "labels": {}, "annotations": {"x": "y"}, "ownerReferences": owners}
    admitted, unknown = admit(schema, {"spec": {"metadata": meta, "free": {"x": 1}}})
    assert admitted["spec"]["metadata"] == {
        "name": "a",
        "annotations": {"x": "y"},
        "ownerReferences": [{"name": "a"}],
    }
    assert [item.field for item in unknown] == ["spec.metadata.odd", "spec.metadata.ownerReferences[0].odd"]
