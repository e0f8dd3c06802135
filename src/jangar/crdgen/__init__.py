"""Writes the CRDs and the API reference from the types in jangar.api, so that the three never differ.

`python -m jangar.crdgen`. Everything here is pure but `files` and `__main__`. Imports: jangar.api only.
"""
