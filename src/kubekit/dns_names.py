"""Names of RFC 1123 and RFC 1035, which most Kubernetes names are, and the messages of Kubernetes for others. Pure."""

import re
from typing import Final

MAX_LABEL: Final = 63
MAX_SUBDOMAIN: Final = 253
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
SUBDOMAIN: Final = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
LABEL_1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def is_dns_label(text: str) -> bool:
    """Whether the text is an RFC 1123 label, such as the name of a namespace."""
    return len(text) <= MAX_LABEL and _LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    """Whether the text is an RFC 1123 subdomain, such as the name of most objects."""
    return len(text) <= MAX_SUBDOMAIN and SUBDOMAIN.fullmatch(text) is not None


def dns_label_1035_problems(text: str) -> list[str]:
    """Why the text is not an RFC 1035 label, which starts with a letter, such as the name of a Service."""
    problems = [] if len(text) <= MAX_LABEL else [f"must be no more than {MAX_LABEL} characters"]
    return problems if _LABEL_1035.fullmatch(text) else [*problems, LABEL_1035_RULE]
