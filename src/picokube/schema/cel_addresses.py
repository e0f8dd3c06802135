"""The IP address and CIDR functions of CEL. Values are represented as one-entry maps in canonical form."""

import ipaddress
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from picokube.schema.go_text import go_quote

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Interface | ipaddress.IPv6Interface
Packed: TypeAlias = dict[str, Any]

_LENGTH: Final = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII)


def _address(text: str) -> Address:
    try:
        found = ipaddress.ip_address(text)
    except ValueError as error:
        reason = f"ParseAddr({go_quote(text)}): unable to parse IP"
        raise ValueError(
            f"IP Address {go_quote(text)} parse error during conversion from string: {reason}"
        ) from error
    if "%" in text:
        raise ValueError(f"IP address {go_quote(text)} with zone value is not allowed")
    _reject_ipv4_mapped(found, text)
    return found


def _reject_ipv4_mapped(address: Address, text: str) -> None:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        raise ValueError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")


def _network(text: str) -> Network:
    address, slash, length = text.partition("/")
    try:
        found = ipaddress.ip_interface(f"{ipaddress.ip_address(address)}/{length}")
    except ValueError:
        found = None
    if found is None or not _LENGTH.fullmatch(length) or "%" in text:
        prefix = "network address parse error during conversion from string"
        reason = "unable to parse" if slash else "no '/'"
        raise ValueError(f"{prefix}: {prefix}: netip.ParsePrefix({go_quote(text)}): {reason}")
    _reject_ipv4_mapped(found.ip, text)
    return found


def _unpacked(packed: Packed, key: str) -> str:
    if set(packed) != {key}:
        raise ValueError("no such overload")
    return str(packed[key])


def _ip(packed: Packed) -> Address:
    return ipaddress.ip_address(_unpacked(packed, "ip"))


def _cidr(packed: Packed) -> Network:
    return ipaddress.ip_interface(_unpacked(packed, "cidr"))


def is_ip(text: str) -> bool:
    return _is_valid(_address, text)


def is_cidr(text: str) -> bool:
    return _is_valid(_network, text)


def _is_valid(reader: Callable[[str], object], text: str) -> bool:
    try:
        reader(text)
    except ValueError:
        return False
    return True


def ip(text: str) -> Packed:
    return {"ip": str(_address(text))}


def is_canonical(text: str) -> bool:
    return str(_address(text)) == text


def family(packed: Packed) -> int:
    return _ip(packed).version


def is_unspecified(packed: Packed) -> bool:
    return _ip(packed).is_unspecified


def is_loopback(packed: Packed) -> bool:
    return _ip(packed).is_loopback


def is_link_local_multicast(packed: Packed) -> bool:
    found = _ip(packed)
    net = ipaddress.ip_network("224.0.0.0/24" if found.version == 4 else "ff02::/16")  # noqa: PLR2004
    return found in net or (found.version != 4 and found.packed[0] == 0xFF and found.packed[1] & 0x0F == 2)  # noqa: PLR2004


def is_link_local_unicast(packed: Packed) -> bool:
    return _ip(packed).is_link_local


def is_global_unicast(packed: Packed) -> bool:
    found = _ip(packed)
    broadcast = found == ipaddress.IPv4Address("255.255.255.255")
    return not (
        broadcast or found.is_unspecified or found.is_loopback or found.is_multicast or found.is_link_local
    )


def cidr(text: str) -> Packed:
    return {"cidr": str(_network(text))}


def ip_of(packed: Packed) -> Packed:
    return {"ip": str(_cidr(packed).ip)}


def masked(packed: Packed) -> Packed:
    return {"cidr": str(_cidr(packed).network)}


def prefix_length(packed: Packed) -> int:
    return _cidr(packed).network.prefixlen


def contains_ip(packed: Packed, other: Packed | str) -> bool:
    address = _address(other) if isinstance(other, str) else _ip(other)
    return address in _cidr(packed).network


def contains_cidr(packed: Packed, other: Packed | str) -> bool:
    outer, inner = (
        _cidr(packed).network,
        (_network(other) if isinstance(other, str) else _cidr(other)).network,
    )
    return (
        outer.version == inner.version
        and inner.network_address in outer
        and outer.prefixlen <= inner.prefixlen
    )


def written(packed: Packed) -> str:
    """The text of an address or CIDR."""
    return _unpacked(packed, "ip" if "ip" in packed else "cidr")
