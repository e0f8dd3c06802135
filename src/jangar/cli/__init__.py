"""The command `jangar`. Commands read, ask the layers below and print; heavy imports stay inside them.

Imports: everything below; nothing imports the command line.
"""
