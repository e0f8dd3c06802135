"""Which labels a selector selects; the cases are those of an API server."""

import pytest

from kubekit.selectors import label_selector

LABELS = {"app": "web", "tier": "front", "a.dev/x-y_z": "1", "empty": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web", True),
        ("app=db", False),
        ("app!=db", True),
        ("app!=web", False),
        ("missing!=x", True),
        ("missing=x", False),
        ("empty=", True),
        ("app=", False),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("app in (web,db)", True),
        ("app in (db, cache)", False),
        ("app notin (db)", True),
        ("app notin (web)", False),
        ("missing notin (web)", True),
        ("missing in (web)", False),
        ("app=web,tier=front", True),
        ("app=web,tier=back", False),
        ("app in (web, db),tier!=back , a.dev/x-y_z=1,!missing", True),
        ("in=web", False),
    ],
)
def test_a_selector_selects(text, expected):
    """Equality, sets, presence, and all of them together."""
    assert label_selector(text)(LABELS) is expected


@pytest.mark.parametrize("text", ["app in web", "=x", "a=b=c", "a in (b", "(a)", "a b"])
def test_a_text_that_is_no_selector_is_refused(text):
    """Better no informer than one that takes in the wrong things."""
    with pytest.raises(ValueError, match="label selector"):
        label_selector(text)
