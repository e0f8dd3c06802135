"""Decisions about the Jobs of a child: whether they exist, how they ended, how they are stopped and released.

Pure; imports: jangar.api, jangar.domain.
"""
