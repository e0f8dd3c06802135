"""Times as the domain uses them: RFC 3339 and rounding, shared with the other packages."""

from kubekit.times import (
    SECOND,
    parse_rfc3339,
    rfc3339,
    whole_millisecond,
    whole_second,
    whole_second_after,
)

__all__ = [
    "SECOND",
    "parse_rfc3339",
    "rfc3339",
    "whole_millisecond",
    "whole_second",
    "whole_second_after",
]
