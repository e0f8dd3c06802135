"""Images are read as runtimes read them, and patterns mean one host exactly."""

import pytest

from jangar.domain.policies.patterns import parse_image, parse_pattern

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "host", "path", "tag"),
    [
        ("python", "docker.io", "library/python", None),
        ("python:3.11", "docker.io", "library/python", "3.11"),
        ("team/app", "docker.io", "team/app", None),
        ("docker.io/python", "docker.io", "library/python", None),
        ("index.docker.io/team/app:1", "docker.io", "team/app", "1"),
        ("ghcr.io/team/app", "ghcr.io", "team/app", None),
        ("GHCR.io/team/app", "ghcr.io", "team/app", None),
        ("localhost/app", "localhost", "app", None),
        ("registry:5000/app:1", "registry:5000", "app", "1"),
        ("docker.io.evil.com/library/python", "docker.io.evil.com", "library/python", None),
        ("evil.com/docker.io/library/python", "evil.com", "docker.io/library/python", None),
        (f"ghcr.io/team/app:1@{DIGEST}", "ghcr.io", "team/app", "1"),
    ],
)
def test_a_reference_is_taken_apart_as_runtimes_do(text, host, path, tag):
    """The part before the first slash is a host only with a dot, a port, an upper case letter, or as localhost."""
    image = parse_image(text)
    assert (image.host, image.path, image.tag) == (host, path, tag)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " python",
        "python ",
        "ghcr.io/",
        "ghcr.io//app",
        "ghcr.io/Team/app",
        "a@b",
        "ghcr.io/a/../b",
        "x:",
        "é/x",
    ],
)
def test_what_no_runtime_pulls_is_no_reference(text):
    """It is refused rather than guessed at."""
    with pytest.raises(ValueError, match="not a valid image reference"):
        parse_image(text)


@pytest.mark.parametrize(
    ("pattern", "image"),
    [
        ("docker.io/*", "python"),
        ("docker.io/library/python", "python:3.11"),
        ("python", f"docker.io/library/python@{DIGEST}"),
        ("ghcr.io/team/*", "ghcr.io/team/deep/app:1"),
        ("ghcr.io/team/app:1.*", "ghcr.io/team/app:1.2"),
        ("ghcr.io/team/app:latest", "ghcr.io/team/app"),
        (f"ghcr.io/team/app@{DIGEST}", f"ghcr.io/team/app:any@{DIGEST}"),
        ("*", "anything.example.com/at/all"),
    ],
)
def test_an_image_of_the_pattern_is_allowed(pattern, image):
    """By host, path, and what decides the content."""
    assert parse_pattern(pattern).allows(parse_image(image))


@pytest.mark.parametrize(
    ("pattern", "image"),
    [
        ("docker.io/*", "docker.io.evil.com/python"),
        ("docker.io/*", "evil.com/docker.io/python"),
        ("docker.io/library/*", "docker.io/evil/python"),
        ("ghcr.io/team/*", "ghcr.io/teammate/app"),
        ("ghcr.io/team/*", "ghcr.io:8443/team/app"),
        ("ghcr.io/team/app", "ghcr.io/team/app-evil"),
        ("ghcr.io/team/app:1", f"ghcr.io/team/app:1@{DIGEST}"),
        (f"ghcr.io/team/app@{DIGEST}", "ghcr.io/team/app"),
        ("team/*", "team.evil.com/app"),
    ],
)
def test_what_only_looks_like_the_pattern_is_not_allowed(pattern, image):
    """Prefixes of hosts and paths, other ports, and a tag that a digest overrules."""
    assert not parse_pattern(pattern).allows(parse_image(image))


def test_a_denied_tag_counts_in_a_reference_with_a_digest():
    """To deny, what is shown is enough; to allow, only what is pulled."""
    image = parse_image(f"ghcr.io/team/app:bad@{DIGEST}")
    assert parse_pattern("ghcr.io/team/app:bad").denies(image)
    assert not parse_pattern("ghcr.io/team/app:good").denies(image)
    assert parse_pattern("python").denies(parse_image("docker.io/python"))


@pytest.mark.parametrize(
    "text",
    [
        "docker.io*",
        "*.example.com/app",
        "*/app",
        "ghcr.io",
        "gh*/team/app",
        "python*",
        "docker.io/py*",
        "a b",
    ],
)
def test_a_pattern_that_is_not_sure_to_mean_one_host_is_refused(text):
    """The process does not start with it."""
    with pytest.raises(ValueError, match=r"'.*'"):
        parse_pattern(text)
