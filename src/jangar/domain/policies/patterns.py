"""Patterns of names, repositories and images, as operators list them. `*` stands for any text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)


def matches(pattern: str, text: str) -> bool:
    """Whether the whole text is of the pattern."""
    return _compiled(pattern).fullmatch(text) is not None


def first_match(patterns: tuple[str, ...], text: str) -> str | None:
    """The first pattern that the text is of."""
    return next((pattern for pattern in patterns if matches(pattern, text)), None)


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


DEFAULT_HOST = "docker.io"
_SAME_HOST = frozenset({"index.docker.io", "registry-1.docker.io"})
_LIBRARY = "library/"
_HOST = re.compile(
    r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*(:[0-9]{1,5})?|\[[0-9a-f:]+\](:[0-9]{1,5})?"
)
_PART = r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*"
_PATH = re.compile(rf"{_PART}(/{_PART})*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"[a-z0-9]+([+._-][a-z0-9]+)*:[0-9a-fA-F]{32,}")
_PATH_PATTERN = re.compile(r"[a-z0-9._/*-]+")
_TAG_PATTERN = re.compile(r"[A-Za-z0-9._*-]{1,128}")
_DIGEST_PATTERN = re.compile(r"[a-zA-Z0-9+._:*-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """A reference, taken apart."""

    host: str
    path: str
    tag: str | None
    digest: str | None

    @property
    def pulled_tag(self) -> str | None:
        """The tag that decides what is pulled; none where a digest does."""
        return None if self.digest else self.tag or "latest"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePattern:
    """Which images are meant: of one host exactly, or with `host` None of every one."""

    host: str | None
    path: str = "*"
    tag: str | None = None
    digest: str | None = None
    written: str

    def allows(self, image: Image) -> bool:
        """Whether the image is surely one of those: a tag says nothing about an image with a digest."""
        if not self._is_of_repository(image):
            return False
        if self.digest is not None:
            return image.digest is not None and matches(self.digest, image.digest)
        return self.tag is None or (image.pulled_tag is not None and matches(self.tag, image.pulled_tag))

    def denies(self, image: Image) -> bool:
        """Whether the image may be one of those: the tag of a reference with a digest counts."""
        if not self._is_of_repository(image):
            return False
        if self.digest is not None:
            return image.digest is not None and matches(self.digest, image.digest)
        shown = image.tag if image.digest else image.pulled_tag
        return self.tag is None or (shown is not None and matches(self.tag, shown))

    def _is_of_repository(self, image: Image) -> bool:
        return self.host is None or (self.host == image.host and matches(self.path, image.path))


def parse_image(text: str) -> Image:
    """The reference; raises ValueError for what no runtime would pull."""
    name, tag, digest = _apart(text)
    host, path = _host_and_path(name)
    if (
        not _HOST.fullmatch(host)
        or not _PATH.fullmatch(path)
        or (tag is not None and not _TAG.fullmatch(tag))
        or (digest is not None and not _DIGEST.fullmatch(digest))
    ):
        raise ValueError("not a valid image reference")
    return Image(host=host, path=path, tag=tag, digest=digest.lower() if digest else None)


def parse_pattern(text: str) -> ImagePattern:
    """The pattern; raises ValueError with what is wrong."""
    if text == "*":
        return ImagePattern(host=None, written=text)
    name, tag, digest = _apart(text)
    first, slash, _ = name.partition("/")
    if slash and "*" in first:
        raise ValueError(f"{text!r} has a * in its host: write the host in full")
    if not slash and _is_host(first):
        raise ValueError(f"{text!r} is only a host: write {first}/* for all of its images")
    host, path = _host_and_path(name)
    if host == DEFAULT_HOST and "*" in path.removeprefix(_LIBRARY) and _is_library_by_default(name):
        raise ValueError(f"{text!r} is ambiguous: write {DEFAULT_HOST}/OWNER/* or {host}/{path}")
    if (
        not _HOST.fullmatch(host)
        or not _PATH_PATTERN.fullmatch(path)
        or (tag is not None and not _TAG_PATTERN.fullmatch(tag))
        or (digest is not None and not _DIGEST_PATTERN.fullmatch(digest))
    ):
        raise ValueError(f"{text!r} is not a valid image pattern")
    return ImagePattern(host=host, path=path, tag=tag, digest=digest and digest.lower(), written=text)


def _apart(text: str) -> tuple[str, str | None, str | None]:
    """Name, tag and digest. A colon before the last slash belongs to a port."""
    rest, at, digest = text.partition("@")
    before, slash, last = rest.rpartition("/")
    last, colon, tag = last.partition(":")
    return f"{before}{slash}{last}", tag if colon else None, digest if at else None


def _host_and_path(name: str) -> tuple[str, str]:
    first, slash, rest = name.partition("/")
    if not slash or not _is_host(first):
        return DEFAULT_HOST, name if slash else f"{_LIBRARY}{name}"
    host = first.lower()
    if host in _SAME_HOST or host == DEFAULT_HOST:
        return DEFAULT_HOST, rest if "/" in rest or rest == "*" else f"{_LIBRARY}{rest}"
    return host, rest


def _is_library_by_default(name: str) -> bool:
    """Whether `library/` was not written but added."""
    path = name.rpartition(f"{DEFAULT_HOST}/")[2]
    return "/" not in path and path != "*"


def _is_host(first: str) -> bool:
    """As Docker decides: a dot, a port, an upper case letter, or localhost."""
    return "." in first or ":" in first or first == "localhost" or first != first.lower()
