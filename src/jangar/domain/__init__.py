"""Pure rules of the product. Values in, values out; `now` is an argument; no I/O, no clock, no logging.

Imports: jangar.api only.
"""
