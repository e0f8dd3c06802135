"""How the tests are laid out."""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
SHARED = {"__init__.py", "conftest.py"}


def test_test_modules_have_unique_names():
    """pytest imports test modules by basename: two with the same name hide each other."""
    names = Counter(module.name for module in TESTS.rglob("*.py") if module.name not in SHARED)
    assert [name for name, count in names.items() if count > 1] == []
