"""Validation by the schema and rules of a custom resource, keyword by keyword, with the server's messages."""

from contract.kubernetes_api.objects import GAUGES, RULES, custom, gauge, rule
from contract.kubernetes_api.session import Session


def _each(s: Session, *specs: dict) -> None:
    for spec in specs:
        s.post(f"{GAUGES}?dryRun=All", gauge("a", **spec))


def valid_objects_pass(s: Session):
    s.post(
        GAUGES,
        gauge(
            "a",
            above=3,
            below=10.4,
            multiple=15,
            small=2147483647,
            text="ab",
            pattern="abc",
            choice="a",
            number=2,
            when="2024-01-02T03:04:05Z",
            day="2024-01-02",
            mail="a@b.co",
            link="https://example.com/x",
            uuid="11111111-2222-3333-4444-555555555555",
            address="10.1.2.3",
            bytes="YWJj",
            span="1h5m",
            few=["a"],
            unique=["a", "b"],
            sized={"a": "b"},
            any={"one": "1"},
            one={"two": "2"},
            all=4,
            never="x",
            amount="5%",
            maybe=None,
            must={"have": "1", "also": "2"},
            ratio=1,
            flag=True,
        ),
    )


def numbers_have_bounds(s: Session):
    _each(s, {"whole": 1}, {"whole": 11}, {"above": 2}, {"below": 10.5}, {"multiple": 7})


def numbers_have_types(s: Session):
    _each(
        s,
        {"whole": "five"},
        {"whole": 5.5},
        {"whole": True},
        {"ratio": "x"},
        {"flag": "yes"},
        {"flag": 1},
        {"text": 5},
    )


def formats_of_numbers_are_not_checked(s: Session):
    _each(s, {"small": 2147483648}, {"large": 9223372036854775807}, {"small": -2147483649})


def text_has_length_and_pattern(s: Session):
    _each(
        s, {"text": "a"}, {"text": "abcdef"}, {"pattern": "ABC"}, {"text": "\u00e9\u00e9\u00e9\u00e9\u00e9"}
    )


def text_has_formats(s: Session):
    _each(
        s,
        {"when": "yesterday"},
        {"day": "2024-13-01"},
        {"mail": "nobody"},
        {"link": "not a link"},
        {"uuid": "x"},
        {"address": "10.1.2"},
        {"bytes": "***"},
        {"span": "soon"},
    )


def choices_are_listed(s: Session):
    _each(s, {"choice": "c"}, {"number": 3}, {"choice": ""})


def lists_have_length_and_kind(s: Session):
    _each(s, {"few": []}, {"few": ["a", "b", "c", "d"]}, {"few": "a"}, {"few": [1]}, {"few": {"a": "b"}})


def list_items_are_unique(s: Session):
    _each(
        s,
        {"unique": ["a", "b", "a"]},
        {"keyed": [{"name": "a"}, {"name": "a"}]},
        {"keyed": [{"name": "a", "kind": "x"}, {"name": "a"}]},
        {"keyed": [{"value": "x"}]},
    )


def objects_have_sizes_and_required_fields(s: Session):
    _each(
        s,
        {"sized": {}},
        {"sized": {"a": "1", "b": "2", "c": "3"}},
        {"must": {}},
        {"must": {"have": "1"}},
        {"must": "x"},
        {"must": None},
    )
    s.post(f"{GAUGES}?dryRun=All", custom("Gauge", "a", {}))
    s.post(
        f"{GAUGES}?dryRun=All",
        {"apiVersion": "conformance.example.com/v1", "kind": "Gauge", "metadata": {"name": "a"}},
    )
    s.post(
        GAUGES,
        {
            "apiVersion": "conformance.example.com/v1",
            "kind": "Gauge",
            "metadata": {"name": "a"},
            "spec": "text",
        },
    )


def combinations_are_checked(s: Session):
    _each(
        s,
        {"any": {}},
        {"one": {}},
        {"one": {"one": "1", "two": "2"}},
        {"all": 2},
        {"all": 6},
        {"never": "forbidden"},
    )


def int_or_string_is_either(s: Session):
    _each(s, {"amount": 5}, {"amount": 5.5}, {"amount": True}, {"amount": ["5"]})


def several_errors_come_together(s: Session):
    _each(s, {"whole": 1, "choice": "c", "text": "a"})


def an_update_repeats_the_errors_of_a_create(s: Session):
    with s.unrecorded():
        s.post(GAUGES, gauge("a"))
    s.merge(f"{GAUGES}/a", {"spec": {"whole": 1}})
    s.merge(f"{GAUGES}/a", {"spec": {"choice": "c"}})
    s.merge(f"{GAUGES}/a", {"spec": None})


def rules_report_their_message(s: Session):
    s.post(RULES, rule("a", low=5, high=3))
    s.post(RULES, rule("a", named="x"))
    s.post(RULES, rule("a", named="n-!"))
    s.post(RULES, rule("a", limit=3))
    s.post(RULES, rule("a", steps=[{"name": "a", "after": ["b"]}]))
    s.post(RULES, rule("a", low=1, high=3, named="n-x", steps=[{"name": "a"}, {"name": "b", "after": ["a"]}]))


def rules_compare_with_the_old_object(s: Session):
    s.post(RULES, rule("a", fixed="x", growing=5))
    s.merge(f"{RULES}/a", {"spec": {"fixed": "y"}})
    s.merge(f"{RULES}/a", {"spec": {"growing": 4}})
    s.merge(f"{RULES}/a", {"spec": {"growing": 6}})
    s.merge(f"{RULES}/a", {"spec": {"fixed": None}})
    s.merge(f"{RULES}/a", {"spec": {"fixed": "z"}})


def optional_old_self_accepts_the_first_value(s: Session):
    s.post(RULES, rule("a"))
    s.merge(f"{RULES}/a", {"spec": {"once": "x"}})
    s.merge(f"{RULES}/a", {"spec": {"once": "y"}})


def a_missing_required_field_stops_the_rules(s: Session):
    s.post(RULES, custom("Rule", "a", {"low": 5, "high": 3}))


def a_bound_does_not_stop_the_rules(s: Session):
    s.post(RULES, rule("a", limit=11, low=5, high=3))


def a_wrong_type_stops_the_rules(s: Session):
    s.post(RULES, rule("a", low="x", high=3))


def rules_hold_for_status_writes_too(s: Session):
    with s.unrecorded():
        s.post(RULES, rule("a"))
    s.merge(f"{RULES}/a/status", {"status": {"phase": "x"}})


def text_in_messages_is_quoted_and_cut(s: Session):
    _each(
        s,
        {"choice": 'with "quotes"'},
        {"choice": "line\nbreak"},
        {"choice": "x" * 300},
        {"pattern": "\u00fcber"},
    )
