"""A certificate authority of our own and a certificate for the server, made once and kept with the data."""

import ipaddress
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=3650)
RENEWED_BEFORE = timedelta(days=30)


class Certificates(NamedTuple):
    """Where the files are."""

    authority: Path
    certificate: Path
    key: Path


def ensure_certificates(directory: Path, hosts: tuple[str, ...], *, now: datetime) -> Certificates:
    """The files, made if they are missing, about to expire, or made for other hosts."""
    found = Certificates(directory / "ca.crt", directory / "server.crt", directory / "server.key")
    if not _is_usable(found, hosts, now):
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        _make(found, hosts, now)
    return found


def _is_usable(files: Certificates, hosts: tuple[str, ...], now: datetime) -> bool:
    if not all(path.exists() for path in files):
        return False
    certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    if certificate.not_valid_after_utc < now + RENEWED_BEFORE:
        return False
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return set(names) == set(_names(hosts))


def _make(files: Certificates, hosts: tuple[str, ...], now: datetime) -> None:
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jangar-ca")])
    authority = (
        _builder(issuer, issuer, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "jangar-apiserver")])
    certificate = (
        _builder(subject, issuer, key.public_key(), now)
        .add_extension(x509.SubjectAlternativeName(_names(hosts)), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write(files.key, private)
    _write(files.certificate, certificate.public_bytes(serialization.Encoding.PEM))
    _write(files.authority, authority.public_bytes(serialization.Encoding.PEM))


def _write(path: Path, content: bytes) -> None:
    """Complete, or not there at all; for its owner alone."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    new.replace(path)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - timedelta(minutes=5))
        .not_valid_after(now.astimezone(UTC) + LIFETIME)
    )


def _names(hosts: tuple[str, ...]) -> list[x509.GeneralName]:
    return [_name(host) for host in hosts]


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
