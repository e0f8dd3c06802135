"""Generates the CRDs and the API reference from the types in jangar.api.

`python -m jangar.crdgen`. Everything is pure except for `generated` and `__main__`. Imports: jangar.api only.
"""
