"""Repositories by their names, `owner/name`, however they are written, and which of them are allowed."""

import re
from collections.abc import Sequence

from jangar.domain.policies.globs import matches

_REPOSITORY = re.compile(r"[a-z0-9_-][a-z0-9._-]*/[a-z0-9._-]*[a-z0-9_-][a-z0-9._-]*")
_PATTERN = re.compile(r"[a-z0-9*_-][a-z0-9.*_-]*/[a-z0-9.*_-]+")
_ON_GITHUB = re.compile(
    r"(?:(?:https?|ssh|git)://(?:[^@/]*@)?(?:www\.)?github\.com/|git@github\.com:|github\.com/)",
    re.IGNORECASE,
)


def canonical_repository(written: str) -> str:
    """`owner/name` in lower case; what is none of GitHub's comes back as it stands."""
    text = _ON_GITHUB.sub("", written, count=1) if _ON_GITHUB.match(written) else written
    text = text.rstrip("/").lower().removesuffix(".git")
    return text if _REPOSITORY.fullmatch(text) else written


def parse_repository_pattern(text: str) -> str:
    """`owner/name` or `owner/*` in lower case; raises ValueError for what is none."""
    if not _PATTERN.fullmatch(text.lower()):
        raise ValueError(f"{text!r} is not a repository: write owner/name, or owner/* for all of an owner")
    return text.lower()


def is_allowed(patterns: Sequence[str], repository: str) -> bool:
    """Whether one of the patterns means the repository; what is no `owner/name` is never meant."""
    return _REPOSITORY.fullmatch(repository) is not None and any(
        matches(owner, repository.partition("/")[0]) and matches(name, repository.partition("/")[2])
        for owner, _, name in (pattern.partition("/") for pattern in patterns)
    )
