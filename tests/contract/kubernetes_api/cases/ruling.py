"""Rules and patterns in schemas: which are rejected with their CRD, and how the others validate objects."""

from contract.kubernetes_api.session import Session
from contract.kubernetes_api.standard_kinds import CRDS, TEXT, WHOLE, a_crd, a_list, a_map, an_object

GROUP = "{ns}.example.com"
PARTS = "/apis/{ns}.example.com/v1/namespaces/{ns}/parts"
RULES = "x-kubernetes-validations"
SHORT = {**TEXT, "maxLength": 20}
WHEN = {**TEXT, "format": "date-time"}
SPAN = {**TEXT, "format": "duration"}
ITEM = an_object(name=SHORT, weight=WHOLE, tags=a_list(SHORT, maxItems=5))


def _crd(spec, **how):
    return a_crd("parts", "Part", {"spec": spec}, group=GROUP, **how)


def _defined(s: Session, spec, *rules) -> None:
    """Try to define the kind with each rule on its own."""
    for item in rules:
        rule = item if isinstance(item, dict) else {"rule": item}
        s.post(f"{CRDS}?dryRun=All", _crd({**spec, RULES: [rule]}), select=_accepted)


def _accepted(body):
    """An error, or that there was none."""
    return body if body["kind"] == "Status" else "accepted"


def _validated(s: Session, spec, rules, *objects) -> None:
    """Whether objects are valid under rules without their own messages."""
    s.install(_crd({**spec, RULES: [{"rule": rule} for rule in rules]}))
    for n, item in enumerate(objects):
        body = {
            "apiVersion": "{ns}.example.com/v1",
            "kind": "Part",
            "metadata": {"name": f"p{n}"},
            "spec": item,
        }
        s.post(f"{PARTS}?dryRun=All", body, select=_accepted)


def operators_need_values_of_one_type(s: Session):
    _defined(
        s,
        an_object(
            a=TEXT, n=WHOLE, f={"type": "number"}, b={"type": "boolean"}, l=a_list(TEXT), m=a_map(TEXT)
        ),
        "self.a == 1",
        "self.n == self.f",
        "self.n < self.f",
        "self.a + 1 == 'a'",
        "self.n in self.l",
        "self.a in self.m",
        "self.m[1] == 'a'",
        "self.l['a'] == 'a'",
        "self.b && self.n",
        "!self.a",
        "-self.a == 1",
        "self.l < self.l",
        "self.b ? self.a : self.n",
        "self.a == null",
    )


def functions_need_arguments_of_their_types(s: Session):
    _defined(
        s,
        an_object(a=TEXT, n=WHOLE, l=a_list(TEXT), o=an_object(x=TEXT)),
        "size(self.n) > 1",
        "self.n.size() > 1",
        "self.a.matches(1)",
        "self.a.startsWith()",
        "self.a.unknown()",
        "unknown(self.a)",
        "self.l.sum() > 1",
        "self.l.join(1) == ''",
        "self.o.x.y == 1",
        "self.o.none.deeper == 1",
        "has(self.none)",
        "has(self)",
        "nothing == 1",
        "self.a.matches('(')",
        "duration('soon') < duration('1h')",
        "timestamp('now') < timestamp('2024-01-01T00:00:00Z')",
    )


def macros_need_a_collection(s: Session):
    _defined(
        s,
        an_object(a=TEXT, n=WHOLE, l=a_list(TEXT, maxItems=5), m=a_map(TEXT, maxProperties=5)),
        "self.n.all(x, x > 1)",
        "self.a.exists(x, x == 'a')",
        "self.l.all(x, x)",
        "self.l.map(x, x == 1).size() == 1",
        "self.l.all(1, true)",
        "self.l.filter(x, x > 1).size() == 1",
        "self.m.all(k, v, k == v + 1)",
        "self.m.all(k, v, k != v)",
        "self.l.sortBy(x, x.size())[0] == 'a'",
        "cel.bind(x, self.a, x == 'a')",
        "[1, 'a'].size() == 2",
        "{'a': 1, 'b': 'c'}.size() == 2",
        "'%s %d'.format([self.a, self.n]) == 'a 1'",
    )


def several_mistakes_are_reported_at_once(s: Session):
    _defined(
        s,
        an_object(a=TEXT, n=WHOLE),
        {"rule": "self.a == 1 && self.none == 2\n  || self.n == 'é' && 'é' == self.n", "message": "several"},
        {"rule": "self.n > 1", "messageExpression": "self.a + self.n"},
        {"rule": "self.n > 1", "messageExpression": "self.n"},
    )


def words_that_cel_reserves_can_be_fields(s: Session):
    spec = an_object(namespace=TEXT, **{"a-b": TEXT, "a.b": TEXT})
    _defined(
        s,
        spec,
        "self.namespace == 'a'",
        "self.__namespace__ == 'a'",
        "self.a__dash__b == self.a__dot__b",
        "self.if == 'a'",
    )


def rules_may_cost_as_much_as_the_schema_allows(s: Session):
    for spec, rule in (
        (an_object(l=a_list(TEXT)), "self.l.all(x, x.matches('^a+$'))"),
        (an_object(l=a_list(SHORT, maxItems=10)), "self.l.all(x, x.matches('^a+$'))"),
        (an_object(l=a_list(TEXT)), "self.l.all(x, self.l.exists(y, x == y))"),
        (an_object(l=a_list(SHORT, maxItems=500)), "self.l.all(x, self.l.exists(y, x == y))"),
        (an_object(l=a_list(SHORT, maxItems=2000)), "self.l.all(x, self.l.exists(y, x == y))"),
        (an_object(l=a_list(SHORT, maxItems=1300)), "self.l.all(x, self.l.exists(y, x == y))"),
        (an_object(l=a_list(ITEM)), "self.l.all(x, x.tags.all(t, t != x.name))"),
        (an_object(l=a_list(ITEM, maxItems=100)), "self.l.all(x, x.tags.all(t, t != x.name))"),
        (an_object(a=TEXT, b=TEXT), "self.a.contains(self.b)"),
        (an_object(a=TEXT, b=SHORT), "self.a.contains(self.b)"),
        (an_object(a=TEXT, b=TEXT), "self.a == self.b"),
        (an_object(a=a_map(TEXT)), "self.a.all(k, self.a[k] == 'a')"),
        (an_object(a=WHOLE), "string(self.a) + 'a' == 'b'"),
        (an_object(a=SHORT), "self.a.replace('a', 'b').split(',').size() > 1"),
        (an_object(l=a_list(SHORT)), "self.l.map(x, x + 'a').join(',').size() > 1"),
        (an_object(l=a_list(SHORT)), "sets.contains(self.l, ['a', 'b'])"),
    ):
        _defined(s, spec, rule)


def the_cost_of_a_rule_counts_for_every_location_it_has(s: Session):
    inner = {**an_object(a=TEXT, b=TEXT), RULES: [{"rule": "self.a == self.b"}]}
    for spec in (
        an_object(l=a_list(inner)),
        an_object(l=a_list(inner, maxItems=10)),
        an_object(m=a_map(inner, maxProperties=300)),
        an_object(l=a_list(an_object(m=a_map(inner, maxProperties=30)), maxItems=4)),
    ):
        s.post(f"{CRDS}?dryRun=All", _crd(spec), select=_accepted)


def the_costs_of_all_rules_are_added(s: Session):
    rules = [{"rule": f"self.a.contains(self.b) || {n} > 1"} for n in range(14)]
    spec = an_object(a={**TEXT, "maxLength": 20_000}, b={**TEXT, "maxLength": 2_500})
    s.post(f"{CRDS}?dryRun=All", _crd({**spec, RULES: rules}), select=_accepted)


def messages_may_cost_no_more_than_rules(s: Session):
    _defined(
        s,
        an_object(n=WHOLE, a=SHORT),
        {"rule": "self.n > 1", "messageExpression": "'n is ' + string(self.n)"},
        {"rule": "self.n > 1", "messageExpression": "'a is ' + self.a"},
    )


def times_are_times_to_rules(s: Session):
    _defined(s, an_object(at=WHEN, span=SPAN), "self.at == '2024'", "self.span > 5", "self.at > self.span")


def times_are_compared(s: Session):
    _validated(
        s,
        an_object(at=WHEN, to=WHEN, span=SPAN, day={**TEXT, "format": "date"}),
        [
            "!has(self.at) || self.at > timestamp('2020-01-01T00:00:00Z')",
            "!has(self.to) || self.to - self.at <= duration('1h')",
            "!has(self.span) || self.span < duration('90m') && self.span.getMinutes() > 1",
            "!has(self.day) || self.day.getFullYear() == 2024",
        ],
        {"at": "2024-05-06T07:08:09Z", "to": "2024-05-06T08:00:00+00:00", "span": "1h", "day": "2024-02-29"},
        {"at": "2019-05-06T07:08:09.5Z", "to": "2024-05-06T07:08:09Z"},
        {"span": "2h", "day": "2023-01-01"},
        {"span": "1s"},
    )


def macros_of_two_variables_work(s: Session):
    _validated(
        s,
        an_object(l=a_list(SHORT, maxItems=5), m=a_map(SHORT, maxProperties=5)),
        [
            "!has(self.l) || self.l.all(i, x, i == 0 || x >= self.l[i - 1])",
            "!has(self.m) || self.m.all(k, v, k != v)",
            "!has(self.m) || self.m.transformList(k, v, k + v).exists(x, x == 'ab')",
            "!has(self.l) || self.l.sortBy(x, x.size())[0].size() < 3",
        ],
        {"l": ["a", "b"], "m": {"a": "b"}},
        {"l": ["b", "a"]},
        {"m": {"a": "a"}},
        {"l": ["aaaa", "bbbb"]},
    )


def broken_patterns_are_reported_with_the_messages_of_go(s: Session):
    for pattern in (
        "(", ")", "a**", "*a", "[", "[z-a]", "a{2,1}", "a{1001}", "\\", "\\8", "\\q", "(?=a)", "(?P<n", "(?P<a-b>c)",
        "(?z)", "\\x{110000}", "[[:foo:]]", "\\p{Foo}", "(a{100}){100}", "a|*", "[a-\\d]", "a??*", "a{", "[[]", "x{,3}",
    ):  # fmt: skip
        s.post(f"{CRDS}?dryRun=All", _crd(an_object(a={**TEXT, "pattern": pattern})), select=_accepted)


def metadata_of_embedded_resources_has_known_fields(s: Session):
    inner = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    s.install(_crd(an_object(one=inner, many=a_list(inner))))
    odd = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "labels": {"a": "b"},
            "annotations": {},
            "creationTimestamp": None,
            "odd": {"x": 1},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "odd": 1}],
        },
        "spec": {"free": True},
    }
    body = {"apiVersion": "{ns}.example.com/v1", "kind": "Part", "metadata": {"name": "a"}}
    s.post(PARTS, {**body, "spec": {"one": odd, "many": [odd, {**odd, "metadata": {}}]}})
    s.get(f"{PARTS}/a")


def refused_writes_warn_of_unknown_fields_too(s: Session):
    s.install(_crd({**an_object(n={**WHOLE, "maximum": 5}), RULES: [{"rule": "self.n != 3"}]}))
    body = {"apiVersion": "{ns}.example.com/v1", "kind": "Part", "metadata": {"name": "a"}}
    for spec in ({"n": 9, "odd": 1}, {"n": 3, "odd": 1}, {"n": "x", "odd": 1}):
        s.post(PARTS, {**body, "spec": spec})
    with s.unrecorded():
        s.post(PARTS, {**body, "spec": {"n": 1}})
    s.merge(f"{PARTS}/a", {"spec": {"n": 9, "odd": 1}})
    s.merge(f"{PARTS}/a", {"spec": {"n": 3, "odd": 1}})


def refused_replacements_warn_of_unknown_fields_too(s: Session):
    s.install(_crd(an_object(n={**WHOLE, "maximum": 5})))
    body = {"apiVersion": "{ns}.example.com/v1", "kind": "Part", "metadata": {"name": "a"}}
    with s.unrecorded():
        made = s.post(PARTS, {**body, "spec": {"n": 1}}).body
    s.put(f"{PARTS}/a", {**made, "spec": {"n": 9, "odd": 1}})
    s.put(
        f"{PARTS}/a", {**made, "metadata": {**made["metadata"], "resourceVersion": "1"}, "spec": {"odd": 1}}
    )
    s.put(f"{PARTS}/a", {**made, "spec": {"n": 2, "odd": 1}}, select=_accepted)


def a_status_is_validated_by_rules_of_the_whole_object(s: Session):
    schema = {
        "spec": an_object(n=WHOLE),
        "status": {**an_object(n={**WHOLE, "maximum": 5}, at=WHEN), RULES: [{"rule": "self.n != 3"}]},
    }
    crd = a_crd("parts", "Part", schema, group=GROUP, version={"subresources": {"status": {}}})
    root = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    root[RULES] = [{"rule": "!has(self.status) || self.status.n != self.spec.n"}]
    s.install(crd)
    body = {"apiVersion": "{ns}.example.com/v1", "kind": "Part", "metadata": {"name": "a"}}
    with s.unrecorded():
        s.post(PARTS, {**body, "spec": {"n": 1}})
    for status in ({"n": 9}, {"n": 3}, {"n": 1}, {"n": "x"}, {"n": 2, "at": "soon", "odd": 1}, {"n": 2}, 5):
        s.merge(f"{PARTS}/a/status", {"status": status}, select=_accepted)
