"""Validates string formats as kube-openapi does, which is less strict than the RFCs."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from picokube.schema.patterns import matcher

_HEX: Final = "[0-9a-fA-F]"
_UUID: Final = f"{_HEX}{{8}}-?{_HEX}{{4}}-?%s{_HEX}{{3}}-?%s{_HEX}{{3}}-?{_HEX}{{12}}"
_LETTER: Final = r"[a-zA-Z0-9\p{S}\p{L}]"
_HOSTNAME: Final = (
    rf"^({_LETTER}((-?{_LETTER}{{0,62}})?)"
    rf"|({_LETTER}(([a-zA-Z0-9\-\p{{S}}\p{{L}}]{{0,61}}{_LETTER})?)\.)+[a-zA-Z\p{{L}}]{{2,63}})$"
)
_SHORT_NAME: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_COLOR_BYTE: Final = "(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_CARDS: Final = (
    r"4\d{12}(?:\d{3})?|5[1-5]\d{14}|(?:222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|6(?:011|5\d\d)\d{12}"
    r"|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11}|6[27]\d{14}"
)
_UNITS: Final = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_SHORT_UNITS: Final = frozenset({"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"})


def _matching(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: compiled.fullmatch(text) is not None


def is_date(text: str) -> bool:
    if not _DATE(text):
        return False
    try:
        date.fromisoformat(text if text[:4] != "0000" else "0004" + text[4:])
    except ValueError:
        return False
    return True


@lru_cache(maxsize=16_384)
def is_date_time(text: str) -> bool:
    """Cached, because every status write validates all timestamps again."""
    day, mark, time = text.lower().partition("t")
    if not mark or not is_date(day):
        return False
    match = _TIME.fullmatch(time.partition("t")[0])
    return match is not None and match[1] <= "23" and match[2] <= "59" and match[3] <= "59"


def is_duration(text: str) -> bool:
    """A Go duration (1h30m), a Scala duration (3 days), or text that contains a Scala duration."""
    if _GO_DURATION(text):
        return True
    units = [unit.lower() for unit in _SCALA_DURATION.findall(text)]
    return any(unit in _SHORT_UNITS or unit.startswith(_UNITS) for unit in units)


def is_uri(text: str) -> bool:
    """An absolute URI or path, as in an HTTP request line."""
    if not text or any(ord(char) <= 0x20 or ord(char) == 0x7F for char in text):  # noqa: PLR2004
        return False
    if _BAD_PERCENT.search(text):
        return False
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return False
    return text.startswith("/") or bool(parts.scheme)


def is_email(text: str) -> bool:
    """An address, optionally in angle brackets after a name."""
    named = _NAMED_ADDRESS.fullmatch(text.strip(" \t"))
    return _ADDRESS(named[1] if named else text.strip(" \t"))


def is_hostname(text: str) -> bool:
    """Letters and symbols of any script; less strict than the RFC, like upstream."""
    sizes = [len(label.encode()) for label in text.split(".")]
    return sum(sizes) + len(sizes) <= 256 and max(sizes) <= 63 and matcher(_HOSTNAME)(text)  # noqa: PLR2004


def is_ipv4(text: str) -> bool:
    # Leading zeros are allowed, as in all Kubernetes fields older than Go 1.17.
    parts = text.split(".")
    plain = len(parts) == 4 and all(p.isascii() and p.isdigit() and int(p[:9]) <= 255 for p in parts)  # noqa: PLR2004
    return plain or ("." in text and is_ipv6(text))


def is_ipv6(text: str) -> bool:
    try:
        return "%" not in text and ipaddress.IPv6Address(text) is not None
    except ValueError:
        return False


def is_cidr(text: str) -> bool:
    address, mark, bits = text.partition("/")
    if not mark or not (bits.isascii() and bits.isdigit() and len(bits) <= 3):  # noqa: PLR2004
        return False
    wide = ":" in address
    return (is_ipv6(address) if wide else is_ipv4(address)) and int(bits) <= (128 if wide else 32)


def is_base64(text: str) -> bool:
    if not text or len(text) % 4:
        return False
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((n + 1) * (10 if char == "X" else int(char)) for n, char in enumerate(digits)) % 11 == 0


def is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum(int(char) * (3 if n % 2 else 1) for n, char in enumerate(digits)) % 10 == 0


def is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not _CREDIT_CARD(digits):
        return False
    doubled = [int(char) * (2 if n % 2 else 1) for n, char in enumerate(reversed(digits))]
    return sum(item - 9 if item > 9 else item for item in doubled) % 10 == 0  # noqa: PLR2004


_DATE: Final = _matching(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))", re.ASCII)
_GO_DURATION: Final = _matching(r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)")
_SCALA_DURATION: Final = re.compile(r"(?<![0-9])[0-9]++\s*+([A-Za-zµ]+)", re.ASCII)
_BAD_PERCENT: Final = re.compile(r"%(?![0-9a-fA-F]{2})")
_NAMED_ADDRESS: Final = re.compile(r"[^<>]*<([^<>]*)>")
_ADDRESS: Final = _matching(
    r"""([^\s()<>\[\]:;@\\,."\x00-\x20]+(\.[^\s()<>\[\]:;@\\,."\x00-\x20]+)*|"[^"\\\r\n]*")"""
    r"""@([^\s()<>\[\]:;@\\,."\x00-\x20]+(\.[^\s()<>\[\]:;@\\,."\x00-\x20]+)*|\[[0-9a-fA-F:.]+\])"""
)
_CREDIT_CARD: Final = _matching(_CARDS)

_SHORT: Final = _matching(_SHORT_NAME)
_LONG_NAME: Final = _matching(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*")

FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matching(f"{_HEX}{{24}}"),
    "byte": is_base64,
    "cidr": is_cidr,
    "creditcard": is_credit_card,
    "date": is_date,
    "datetime": is_date_time,
    "duration": is_duration,
    "email": is_email,
    "hexcolor": _matching(f"#?({_HEX}{{3}}|{_HEX}{{6}})"),
    "hostname": is_hostname,
    "ipv4": is_ipv4,
    "ipv6": is_ipv6,
    "isbn": lambda text: is_isbn10(text) or is_isbn13(text),
    "isbn10": is_isbn10,
    "isbn13": is_isbn13,
    "k8slongname": lambda text: len(text) <= 253 and _LONG_NAME(text),  # noqa: PLR2004
    "k8sshortname": lambda text: len(text) <= 63 and _SHORT(text),  # noqa: PLR2004
    "mac": _matching(f"{_HEX}{{2}}([:-]){_HEX}{{2}}(\\1{_HEX}{{2}}){{4}}|({_HEX}{{4}}\\.){{2}}{_HEX}{{4}}"),
    "password": lambda _text: True,
    "rgbcolor": _matching(rf"rgb\(\s*{_COLOR_BYTE}\s*,\s*{_COLOR_BYTE}\s*,\s*{_COLOR_BYTE}\s*\)"),
    "ssn": _matching(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "uri": is_uri,
    "uuid": _matching(_UUID % (_HEX, _HEX)),
    "uuid3": _matching(_UUID % ("3", _HEX)),
    "uuid4": _matching(_UUID % ("4", "[89abAB]")),
    "uuid5": _matching(_UUID % ("5", "[89abAB]")),
}
"""Checks by format name without dashes. Other formats are not checked."""


def checked_format(name: str) -> str:
    """The format name if Kubernetes checks it, else empty: int32 and double are only hints for clients."""
    return name if name.replace("-", "") in FORMATS else ""
