"""Warnings as headers: what no header may hold is not sent."""

import pytest

from picokube.apiserver.printing.representations import warning_headers


@pytest.mark.parametrize("name", ["a\x7fb", "a\nb", "\x00", "a\x85"])
def test_a_warning_that_no_header_holds_is_left_out(name):
    """Else the connection would break: field names come from the client that sends an object."""
    assert warning_headers([f'unknown field "{name}"', "plain", "plain"]) == (("Warning", '299 - "plain"'),)


def test_many_warnings_are_shortened_as_kubernetes_does():
    """An object with a thousand unknown fields was answered with a thousand headers, which clients refuse."""
    found = warning_headers([f'unknown field "spec.{"x" * 300}{n}"' for n in range(1_000)])
    assert 1 <= len(found) <= 16
    assert all(len(value) <= 256 + len('299 - ""') + 4 for _, value in found)
    assert len(warning_headers([f'unknown field "spec.k{n}"' for n in range(1_000)])) == 50
    assert len(warning_headers(["x" * 3_000])[0][1]) == 3_000 + len('299 - ""')
    assert len(warning_headers([f"k{n}" for n in range(200)])) == 50
