import pytest
from golden_cases import recorded

from picokube.schema.errors import SchemaRejected
from picokube.schema.patterns import matcher, pattern_error

PATTERNS = [pytest.param(*item, id=str(n)) for n, item in enumerate(recorded("patterns")["patterns"])]
FLAGS_REPEATED = "(?i)*"


@pytest.mark.parametrize(("pattern", "problem"), PATTERNS)
def test_a_pattern_is_read_as_by_go(pattern, problem):
    """What is wrong with it, word by word; and a pattern Go can read can be run."""
    assert pattern_error(pattern) == problem
    if problem:
        with pytest.raises(SchemaRejected):
            matcher(pattern)
    elif FLAGS_REPEATED not in pattern:
        matcher(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a{$", "a{", True), ("^a{,3}$", "a{,3}", True), ("^[[]$", "[", True), ("^[a&&b]+$", "&a", True),
        ("^[a&&b]+$", "c", False), ("^[~~]$", "~", True), ("^[]a]+$", "]a", True), (r"^\Qa*\E$", "a*", True),
        (r"^[\Q]$", "Q", False), ("^[[:^alpha:]]$", "1", True), ("^[[:^alpha:]]$", "é", True),
        ("^[[:^alpha:]]$", "a", False), ("^[[:alpha:]]+$", "ab", True), (r"^\x{41}\101$", "AA", True),
        ("^(?P<n>a)(?P<m>b)$", "ab", True), ("^}$", "}", True), ("^[a-]$", "-", True), (r"^[\d-z]$", "-", True),
    ],
)  # fmt: skip
def test_what_only_go_takes_literally_is_taken_so(pattern, text, matches):
    """Braces that count nothing, brackets in brackets, && and ~~."""
    assert (not pattern_error(pattern) and matcher(pattern)(text)) is matches
