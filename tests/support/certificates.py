"""A certificate authority for one test bed, created with the openssl command. Loopback only, valid for two days."""

import subprocess
from pathlib import Path

_EXTENSIONS = """\
[req]
distinguished_name = name
prompt = no
[name]
CN = {name}
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[serving]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:localhost, DNS:kubernetes.default.svc, IP:127.0.0.1, IP:10.96.0.1
authorityKeyIdentifier = keyid
"""


def make_authority(directory: Path) -> None:
    """Write ca.crt, serving.crt, serving.key, accounts.key and accounts.pub to `directory`."""
    for name in ("ca", "serving"):
        (directory / f"{name}.cnf").write_text(_EXTENSIONS.format(name=f"test-{name}"))
    for name in ("ca", "serving", "accounts"):
        _openssl(
            directory,
            "genpkey",
            "-algorithm",
            "EC",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-out",
            f"{name}.key",
        )
    _openssl(directory, "pkey", "-in", "accounts.key", "-pubout", "-out", "accounts.pub")
    _openssl(
        directory,
        *("req", "-x509", "-new", "-key", "ca.key", "-config", "ca.cnf", "-extensions", "authority"),
        *("-days", "2", "-out", "ca.crt"),
    )
    _openssl(directory, "req", "-new", "-key", "serving.key", "-config", "serving.cnf", "-out", "serving.csr")
    _openssl(
        directory,
        *("x509", "-req", "-in", "serving.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-set_serial", "2"),
        *("-extfile", "serving.cnf", "-extensions", "serving", "-days", "2", "-out", "serving.crt"),
    )


def _openssl(directory: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=directory, check=True, capture_output=True, timeout=30)
