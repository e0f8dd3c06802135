"""What an applier gets, keeps and loses."""

import orjson
import pytest

from picokube.apiserver.apply.server_side import ApplyConflict, ApplyTypeError
from unit.picokube.apiserver.apply.things import LATER, NOW, applied, owners, thing, updated

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def steps(obj):
    return [step["name"] for step in obj["spec"]["steps"]]


def listed(*names):
    return [{"name": name} for name in names]


def test_applying_the_same_again_changes_nothing():
    """Not even a time."""
    made = applied(None, {"replicas": 1, "steps": listed("a")})
    assert applied(made, {"replicas": 1, "steps": listed("a")}, now=LATER) == made


def test_what_is_no_longer_applied_is_removed():
    """Only what this manager applied before."""
    made = applied(None, {"replicas": 1, "name": "x", "labels": {"a": "1", "b": "2"}})
    after = applied(made, {"replicas": 1, "labels": {"a": "1"}})
    assert after["spec"] == {"replicas": 1, "labels": {"a": "1"}}


def test_what_another_owns_too_stays():
    """The other now owns it alone."""
    made = applied(applied(None, {"replicas": 1, "name": "x"}), {"name": "x"}, "two")
    after = applied(made, {"replicas": 1})
    assert after["spec"] == {"replicas": 1, "name": "x"}
    assert owners(after)["two", "Apply"] == {"f:spec": {"f:name": {}}}


def test_a_second_applier_of_the_same_value_has_no_time():
    """Nothing changed when it came."""
    made = applied(applied(None, {"name": "x"}), {"name": "x"}, "two", now=LATER)
    assert [managed_field.get("time") for managed_field in made["metadata"]["managedFields"]] == [None, NOW]


def test_one_conflict_is_named():
    """With the version of the owner, which is an updater."""
    made = updated(None, thing({"replicas": 1}), "kubectl-client-side-apply")
    with pytest.raises(ApplyConflict) as caught:
        applied(made, {"replicas": 2})
    with_whom = 'conflict with "kubectl-client-side-apply" using example.com/v1'
    assert caught.value.message == f"Apply failed with 1 conflict: {with_whom}: .spec.replicas"
    assert caught.value.causes == [
        {"reason": "FieldManagerConflict", "message": with_whom, "field": ".spec.replicas"}
    ]


def test_many_conflicts_are_listed_by_manager():
    """Paths as people read them."""
    made = applied(None, {"replicas": 1}, "b")
    made = applied(made, {"steps": [{"name": "x", "image": "1"}], "tags": ["t"], "name": "n"}, "a")
    with pytest.raises(ApplyConflict) as caught:
        applied(made, {"replicas": 2, "name": "m", "steps": [{"name": "x", "image": "2"}]})
    assert caught.value.message == (
        'Apply failed with 3 conflicts: conflicts with "a":\n- .spec.name\n- .spec.steps[name="x"].image\n'
        'conflicts with "b":\n- .spec.replicas'
    )


def test_force_takes_fields_over():
    """The former owner loses them."""
    made = applied(None, {"replicas": 1, "name": "x"})
    after = applied(made, {"replicas": 2}, "two", force=True)
    assert after["spec"]["replicas"] == 2
    assert owners(after)["one", "Apply"] == {"f:spec": {"f:name": {}}}


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        pytest.param("abc", "d", "abcd", id="new-items-come-last"),
        pytest.param("abc", "dc", "abdc", id="new-items-come-before-what-follows-them"),
        pytest.param("abc", "ca", "bca", id="the-configuration-decides-among-its-own"),
        pytest.param("abc", "abc", "abc", id="same-order"),
        pytest.param("abc", "db", "adbc", id="others-keep-their-places"),
    ],
)
def test_items_are_ordered(live, config, expected):
    """By the configuration where it says anything, else as they were."""
    made = applied(None, {"steps": listed(*live)}, "other")
    assert steps(applied(made, {"steps": listed(*config)})) == list(expected)


def test_atomic_values_are_owned_whole():
    """A list without a type, and a map that says so."""
    made = applied(None, {"args": ["a"], "selector": {"x": "1"}})
    assert owners(made)["one", "Apply"] == {"f:spec": {"f:args": {}, "f:selector": {}}}
    assert applied(made, {"args": ["b"], "selector": {"y": "1"}})["spec"] == {
        "args": ["b"],
        "selector": {"y": "1"},
    }


def test_fields_of_an_object_that_no_one_tracked_belong_to_the_past():
    """They conflict like anyone's."""
    live = thing({"replicas": 1}, uid="u")
    with pytest.raises(ApplyConflict, match=r'conflict with "before-first-apply" using example\.com/v1'):
        applied(live, {"replicas": 2})
    assert set(owners(applied(live, {"replicas": 1}))) == {("before-first-apply", "Update"), ("one", "Apply")}


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        pytest.param(
            {"replicas": "1"}, ".spec.replicas: expected numeric (int or float), got string", id="number"
        ),
        pytest.param(
            {"name": 1}, ".spec.name: expected string, got &value.valueUnstructured{Value:1}", id="text"
        ),
        pytest.param({"nope": 1}, ".spec.nope: field not declared in schema", id="unknown-field"),
        pytest.param({"labels": "x"}, ".spec.labels: expected map, got &{x}", id="map"),
        pytest.param({"tags": "x"}, ".spec.tags: expected list, got &{x}", id="list"),
        pytest.param(
            {"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]', id="duplicate-in-set"
        ),
        pytest.param(
            {"steps": listed("a", "a")},
            '.spec.steps: duplicate entries for key [name="a"]',
            id="duplicate-key",
        ),
    ],
)
def test_a_configuration_must_fit_the_schema(spec, problem):
    """Answered with 500, in these words."""
    with pytest.raises(ApplyTypeError) as caught:
        applied(None, spec)
    what = "failed to create typed patch object (ns/a; example.com/v1, Kind=Thing): "
    assert str(caught.value) == what + problem


def client_side(spec, live=None):
    text = orjson.dumps(thing(spec)).decode()
    return updated(None, thing(live or spec, annotations={LAST_APPLIED: text}), "kubectl-client-side-apply")


def test_kubectl_takes_over_what_it_applied_from_the_client():
    """And brings the annotation up to date."""
    after = applied(client_side({"replicas": 1}), {"replicas": 2}, "kubectl")
    assert after["spec"] == {"replicas": 2}
    assert orjson.loads(after["metadata"]["annotations"][LAST_APPLIED])["spec"] == {"replicas": 2}
    assert after["metadata"]["annotations"][LAST_APPLIED].endswith("}\n")


@pytest.mark.parametrize(
    ("live", "manager"),
    [
        pytest.param({"replicas": 5}, "kubectl", id="not-what-was-changed-since"),
        pytest.param({"replicas": 1, "tags": ["a", "a"]}, "kubectl", id="not-of-an-object-with-duplicates"),
        pytest.param({"replicas": 1}, "helm", id="not-another-manager"),
    ],
)
def test_nothing_else_is_taken_over(live, manager):
    """It stays a conflict."""
    with pytest.raises(ApplyConflict, match=r"\.spec\.replicas"):
        applied(client_side({"replicas": 1}, live), {"replicas": 2}, manager)
