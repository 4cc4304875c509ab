"""Certificates as a casino's own CA would give them out, made for a test; and what they are for."""

from __future__ import annotations

import datetime as dt
import ipaddress
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

HERE = ("localhost", "127.0.0.1")


class Issued(NamedTuple):
    """A certificate and its key, and both as PEM."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Writes NAME.pem and NAME.key, as whoever renews them should: each as a whole."""
        folder.mkdir(exist_ok=True, parents=True)
        for suffix, data in ((".pem", self.pem), (".key", self.key_pem)):
            (folder / f".{name}{suffix}").write_bytes(data)
            (folder / f".{name}{suffix}").replace(folder / f"{name}{suffix}")
        return folder / f"{name}.pem", folder / f"{name}.key"


def issue(
    name: str, by: Issued | None = None, *, names: tuple[str, ...] = HERE, days: float = 30, begun_days_ago: float = 60
) -> Issued:
    """Issues a certificate that ends in so many days; without `by` a CA that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    building = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if by is None else by.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=begun_days_ago))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
    )
    if by is not None:
        others = [x509.IPAddress(ipaddress.ip_address(n)) if n[0].isdigit() else x509.DNSName(n) for n in names]
        building = building.add_extension(x509.SubjectAlternativeName(others), critical=False)
    return Issued(building.sign(key if by is None else by.key, hashes.SHA256()), key)
