"""The quantity, semantic version, IP address and CIDR functions of CEL.

These values are represented as one-entry maps with their canonical text.
"""

import ipaddress
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, TypeAlias

from kubekit.quantities import parse_quantity
from picokube.schema.go_text import go_quote

_QUANTITY_KEY: Final = "quantity"
Packed: TypeAlias = dict[str, Any]
_NUMBER: Final = "0|[1-9][0-9]*"
_SEMVER: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?", re.ASCII
)
_SEMVER_KEY: Final = "semver"
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Interface | ipaddress.IPv6Interface
_LENGTH: Final = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII)


def is_quantity(text: str) -> bool:
    return parse_quantity(text) is not None


def quantity(text: str) -> dict[str, str]:
    value = parse_quantity(text)
    if value is None:
        raise ValueError(
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )
    return _pack(value)


def _pack(value: Decimal) -> dict[str, str]:
    # Canonical, because == compares the maps.
    return {_QUANTITY_KEY: f"{value.normalize():f}"}


def _value(packed: dict[str, Any]) -> Decimal:
    if set(packed) != {_QUANTITY_KEY}:
        raise ValueError("no such overload: this needs a quantity")
    return Decimal(packed[_QUANTITY_KEY])


def as_float(packed: dict[str, Any]) -> float:
    return float(_value(packed))


def is_integer(packed: dict[str, Any]) -> bool:
    value = _value(packed)
    return value == value.to_integral_value() and abs(value) < 2**63


def as_integer(packed: dict[str, Any]) -> int:
    if not is_integer(packed):
        raise ValueError("cannot convert value to integer")
    return int(_value(packed))


def sign(packed: dict[str, Any]) -> int:
    value = _value(packed)
    return (value > 0) - (value < 0)


def compare_quantities(one: dict[str, Any], other: dict[str, Any]) -> int:
    a, b = _value(one), _value(other)
    return (a > b) - (a < b)


def shift(direction: int, packed: dict[str, Any], by: dict[str, Any] | int) -> dict[str, str]:
    amount = _value(by) if isinstance(by, dict) else Decimal(by)
    return _pack(_value(packed) + direction * amount)


def _parse_semver(text: str, *, loosely: bool) -> re.Match[str] | None:
    match = _SEMVER.fullmatch(_complete(text) if loosely else text)
    if match is None:
        return None
    before = (match[4] or "0").split(".")
    well_formed = all(part and not (part.isdigit() and len(part) > 1 and part[0] == "0") for part in before)
    return match if well_formed and all((match[5] or "0").split(".")) else None


def _complete(text: str) -> str:
    """Normalize v1.02 to 1.2.0."""
    parts = text.removeprefix("v").split(".", 2)
    parts = [_strip_zeros(part) for part in parts]
    if len(parts) < 3 and re.search("[+-]", parts[-1]):  # noqa: PLR2004 - major, minor and patch
        return ""
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _strip_zeros(part: str) -> str:
    if len(part) < 2:  # noqa: PLR2004 - one digit may be zero
        return part
    rest = part.lstrip("0")
    return rest if rest[:1].isdigit() else f"0{rest}"


def is_semver(text: str, loosely: bool = False) -> bool:
    return _parse_semver(text, loosely=loosely) is not None


def semver(text: str, loosely: bool = False) -> Packed:
    match = _parse_semver(text, loosely=loosely)
    if match is None:
        raise ValueError("No Major.Minor.Patch elements found" if text.count(".") < 2 else "Invalid version")  # noqa: PLR2004
    return {_SEMVER_KEY: match[0].partition("+")[0]}


def is_packed(packed: Packed) -> bool:
    return set(packed) == {_SEMVER_KEY}


def _match(packed: Packed) -> re.Match[str]:
    match = _SEMVER.fullmatch(str(packed.get(_SEMVER_KEY, "")))
    if match is None:
        raise ValueError("no such overload")
    return match


def part(number: int, packed: Packed) -> int:
    """Major (1), minor (2) or patch (3)."""
    return int(_match(packed)[number])


def compare_semvers(one: Packed, other: Packed) -> int:
    a, b = _order(_match(one)), _order(_match(other))
    return (a > b) - (a < b)


def _order(match: re.Match[str]) -> tuple[Any, ...]:
    # A release is greater than its pre-releases. Numeric identifiers are less than alphanumeric ones.
    before = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in (match[4] or "").split(".")]
    return (*(int(match[n]) for n in (1, 2, 3)), 0 if match[4] else 1, before if match[4] else [])


def parse_address(text: str) -> Address:
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        reason = f"ParseAddr({go_quote(text)}): unable to parse IP"
        raise ValueError(
            f"IP Address {go_quote(text)} parse error during conversion from string: {reason}"
        ) from error
    if "%" in text:
        raise ValueError(f"IP address {go_quote(text)} with zone value is not allowed")
    _reject_ipv4_mapped(address, text)
    return address


def _reject_ipv4_mapped(address: Address, text: str) -> None:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")


def parse_network(text: str) -> Network:
    address, slash, length = text.partition("/")
    try:
        network = ipaddress.ip_interface(f"{ipaddress.ip_address(address)}/{length}")
    except ValueError:
        network = None
    if network is None or not _LENGTH.fullmatch(length) or "%" in text:
        prefix = "network address parse error during conversion from string"
        reason = "unable to parse" if slash else "no '/'"
        raise ValueError(f"{prefix}: {prefix}: netip.ParsePrefix({go_quote(text)}): {reason}")
    _reject_ipv4_mapped(network.ip, text)
    return network


def _unpack(packed: Packed, key: str) -> str:
    if set(packed) != {key}:
        raise ValueError("no such overload")
    return str(packed[key])


def _ip(packed: Packed) -> Address:
    return ipaddress.ip_address(_unpack(packed, "ip"))


def _cidr(packed: Packed) -> Network:
    return ipaddress.ip_interface(_unpack(packed, "cidr"))


def is_valid(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def ip(text: str) -> Packed:
    return {"ip": str(parse_address(text))}


def is_canonical(text: str) -> bool:
    return str(parse_address(text)) == text


def address_attribute(name: str, packed: Packed) -> Any:
    """An attribute of the address, such as `is_loopback`."""
    return getattr(_ip(packed), name)


def is_link_local_multicast(packed: Packed) -> bool:
    address = _ip(packed)
    net = ipaddress.ip_network("224.0.0.0/24" if address.version == 4 else "ff02::/16")  # noqa: PLR2004
    link_local = address.packed[0] == 0xFF and address.packed[1] & 0x0F == 2  # noqa: PLR2004 - ff?2::/16
    return address in net or (address.version != 4 and link_local)  # noqa: PLR2004


def is_global_unicast(packed: Packed) -> bool:
    address = _ip(packed)
    broadcast = address == ipaddress.IPv4Address("255.255.255.255")
    return not (
        broadcast
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def cidr(text: str) -> Packed:
    return {"cidr": str(parse_network(text))}


def ip_of(packed: Packed) -> Packed:
    return {"ip": str(_cidr(packed).ip)}


def mask(packed: Packed) -> Packed:
    return {"cidr": str(_cidr(packed).network)}


def prefix_length(packed: Packed) -> int:
    return _cidr(packed).network.prefixlen


def contains_ip(packed: Packed, other: Packed | str) -> bool:
    address = parse_address(other) if isinstance(other, str) else _ip(other)
    return address in _cidr(packed).network


def contains_cidr(packed: Packed, other: Packed | str) -> bool:
    outer, inner = (
        _cidr(packed).network,
        (parse_network(other) if isinstance(other, str) else _cidr(other)).network,
    )
    return (
        outer.version == inner.version
        and inner.network_address in outer
        and outer.prefixlen <= inner.prefixlen
    )


def address_text(packed: Packed) -> str:
    """The text of an address or CIDR."""
    return _unpack(packed, "ip" if "ip" in packed else "cidr")
