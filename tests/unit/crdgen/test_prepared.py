"""The definitions that are shipped ready made."""

from jangar.crdgen.crd import crds
from jangar.crdgen.prepared import Prepared


def test_what_is_shipped_is_what_the_types_say():
    """`make generate` was run after the last change of types."""
    assert Prepared.read().definitions() == crds()


def test_other_definitions_have_another_fingerprint():
    """So a data directory of another version is brought up to date."""
    assert Prepared(text=b"[]").fingerprint != Prepared.read().fingerprint
