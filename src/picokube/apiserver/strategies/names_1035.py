"""Names by RFC 1035: they begin with a letter. Services, and the names of custom kinds."""

import re
from typing import Final

_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LONGEST: Final = 63
RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def label_1035_problems(name: str) -> list[str]:
    problems = [] if len(name) <= _LONGEST else [f"must be no more than {_LONGEST} characters"]
    return problems if _LABEL.fullmatch(name) else [*problems, RULE]
