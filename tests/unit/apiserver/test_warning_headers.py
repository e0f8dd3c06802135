"""Warnings as headers: what no header may hold is not sent."""

import pytest

from jangar.apiserver.answers import warning_headers


@pytest.mark.parametrize("name", ["a\x7fb", "a\nb", "\x00", "a\x85"])
def test_a_warning_that_no_header_holds_is_left_out(name):
    """Else the connection would break: field names come from whoever sends an object."""
    assert warning_headers([f'unknown field "{name}"', "plain", "plain"]) == (("Warning", '299 - "plain"'),)
