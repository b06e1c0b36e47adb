"""Which addresses of a fleet are connected to: over TLS any, without it only what cannot be listened to.

Whoever can speak to a scheduler of Dask, or in its place, can have Python run on every machine that is connected to it,
this one too: that is what Dask is. TLS with certificates of one's own is what keeps others out. Source:
https://distributed.dask.org/en/stable/tls.html
"""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyopbench.model.errors import BadInput

ADDRESS = re.compile(
    r"(?P<protocol>[a-z]+)://(\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]+)):(?P<port>[0-9]{1,5})/?"
)
PROTOCOLS = ("tcp", "tls")
LOOPBACK_NAME = "localhost"
WITHIN = "inproc://"
"""How addresses begin that are within this process."""


@dataclass(frozen=True)
class Access:
    """How a scheduler is reached.

    Attributes:
        address: of it, `tcp://HOST:PORT` or `tls://HOST:PORT`.
        allowed: hosts that may be spoken to without TLS, as the user says; loopback always may.
        ca_file: the certificates that the others' are checked by.
        certificate: that this client shows.
        key: of that certificate; None if it stands in the same file.
    """

    address: str
    allowed: tuple[str, ...] = ()
    ca_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None

    def check(self) -> None:
        """Check that the address may be connected to.

        Raises:
            BadInput: it is no address, one that needs TLS and has none, or certificates are missing, unreadable or not
            used.
        """
        protocol, _ = parts_of(self.address)
        has_files = self.ca_file is not None and self.certificate is not None
        has_any = any(one is not None for one in (self.ca_file, self.certificate, self.key))
        if protocol == "tls" and not has_files:
            raise BadInput(
                "a scheduler is reached over TLS by certificates",
                received=f"{self.address} without " + _missing(self.ca_file, self.certificate),
                legal="--tls-ca-file, --tls-cert and, if it is in a file of its own, --tls-key",
                hint="give the files that the scheduler and the hosts were started with",
            )
        if protocol == "tcp" and has_any:
            raise BadInput(
                "certificates are of no use without TLS",
                received=self.address,
                legal="tls://HOST:PORT with certificates",
                hint=f"--scheduler tls{self.address.removeprefix('tcp')}, or leave the certificates out",
            )
        self._check_files()
        self.check_open(self.address)

    def _check_files(self) -> None:
        options = ("--tls-ca-file", "--tls-cert", "--tls-key")
        for option, file in zip(options, (self.ca_file, self.certificate, self.key), strict=True):
            if file is not None and not os.access(file, os.R_OK):
                raise BadInput(
                    "a certificate or key cannot be read",
                    received=f"{option} {file}",
                    legal="a file in PEM that you may read",
                    hint="check the path and the permissions",
                )

    def check_open(self, address: str) -> None:
        """Check that an address, of the scheduler or of a host, is one over TLS, on loopback, or allowed.

        Raises:
            BadInput: it is not.
        """
        if address.startswith(WITHIN):
            return
        protocol, host = parts_of(address)
        if protocol == "tls" or is_loopback(host) or host in self.allowed:
            return
        raise BadInput(
            "without TLS everybody on the way can read what is sent, change it, and so have programs run on every host",
            received=address,
            legal="tls://HOST:PORT with certificates, an address of this machine, or one that you allow",
            hint="start the scheduler and the hosts with --tls-ca-file, --tls-cert and --tls-key; "
            f"or, in a network that only you use, --allow-address {host}",
        )

    def security(self) -> Any:
        """Return Dask's `Security` of the certificates; None without TLS."""
        if parts_of(self.address)[0] != "tls":
            return None
        from distributed.security import Security

        key = self.key or self.certificate
        return Security(
            require_encryption=True,
            tls_ca_file=str(self.ca_file),
            tls_client_cert=str(self.certificate),
            tls_client_key=str(key),
        )


def parts_of(address: str) -> tuple[str, str]:
    """Return the protocol and the host of an address.

    Raises:
        BadInput: it is no address, or of a protocol that pyopbench does not check.
    """
    match = ADDRESS.fullmatch(address)
    if match is None or match["protocol"] not in PROTOCOLS:
        raise BadInput(
            "not the address of a scheduler",
            received=repr(address),
            legal="tls://HOST:PORT or tcp://HOST:PORT",
            hint="take the address that `dask scheduler` prints",
        )
    return match["protocol"], match["six"] or match["host"]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by the one name that always is or by its number; other names may be anybody's."""
    if host == LOOPBACK_NAME:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _missing(*files: Path | None) -> str:
    names = ("--tls-ca-file", "--tls-cert")
    return " and ".join(name for name, file in zip(names, files, strict=True) if file is None)
