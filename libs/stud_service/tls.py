"""TLS of a service's port: its certificate and key, and, where clients must show one too, the CA of theirs.

The three files are looked at every two seconds. Renewed ones are taken as soon as they fit together: new connections
get them, open ones stay as they are, nothing is started again. Files that cannot be used (half of a pair was replaced,
say) change nothing, and that is told.

gRPC asks for the configuration at each handshake, in a thread of its own; it is answered from memory.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import grpc
import structlog
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from stud_service.aside import aside
from stud_service.settings import ServiceSettings
from stud_topology.services import HOST

LOOK_S: Final = 2.0
DAY_S: Final = 86_400
MAX_BYTES: Final = 1024 * 1024

logger = structlog.get_logger(__name__)


class TlsError(ValueError):
    """The files cannot be used; the text names the setting, the file and what is wanted."""


class Pair(NamedTuple):
    """What the files say: PEM texts, and when the first certificate of the chain ends, seconds since the epoch."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None
    ends_s: float


def read_pair(certificate: Path, key: Path, client_ca: Path | None) -> Pair:
    """Reads and compares the files. Raises TlsError."""
    chain, private = _read("STUD_TLS_CERTIFICATE", certificate), _read("STUD_TLS_KEY", key)
    first = _certificates("STUD_TLS_CERTIFICATE", certificate, chain)[0]
    try:
        public = serialization.load_pem_private_key(private, password=None).public_key()
    except (ValueError, TypeError, UnsupportedAlgorithm) as why:
        problem = f"cannot be read as a private key without a password ({type(why).__name__})"
        raise TlsError(f"STUD_TLS_KEY: {key} {problem}") from None
    if _spki(public) != _spki(first.public_key()):
        raise TlsError(f"STUD_TLS_KEY: {key} is not the key of the first certificate in {certificate}")
    authority = None
    if client_ca is not None:
        authority = _read("STUD_TLS_CLIENT_CA", client_ca)
        _certificates("STUD_TLS_CLIENT_CA", client_ca, authority)
    return Pair(chain, private, authority, first.not_valid_after_utc.timestamp())


def _read(setting: str, path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as why:
        raise TlsError(f"{setting}: {path} cannot be read ({why.strerror})") from None
    if len(data) > MAX_BYTES:
        raise TlsError(f"{setting}: {path} has more than {MAX_BYTES} bytes")
    return data


def _certificates(setting: str, path: Path, pem: bytes) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        raise TlsError(f"{setting}: {path} holds no certificate (PEM)") from None


def _spki(key: object) -> bytes:
    der: bytes = key.public_bytes(  # type: ignore[attr-defined]  # whatever kind of key: they all can
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return der


def for_clients(environ: Mapping[str, str]) -> dict[str, str]:
    """Returns what a client on this machine needs towards a service with these variables: `ca` (the certificate itself
    does, where no CA is named), `name` where the certificate is not for 127.0.0.1, and, where clients must show a
    certificate, `certificate` and `key`: the service's own where there is no other. Nothing without TLS, and where the
    files cannot be used: the service will say so.
    """
    certificate, key = environ.get("STUD_TLS_CERTIFICATE", ""), environ.get("STUD_TLS_KEY", "")
    if not certificate or not key:
        return {}
    try:
        pair = read_pair(Path(certificate), Path(key), None)
    except TlsError:
        return {}
    told = {"ca": environ.get("STUD_TLS_CA") or str(Path(certificate).absolute())}
    name = environ.get("STUD_TLS_NAME") or _other_name(x509.load_pem_x509_certificates(pair.certificate)[0])
    if name:
        told["name"] = name
    if environ.get("STUD_TLS_CLIENT_CA"):
        told["certificate"] = environ.get("STUD_TLS_CLIENT_CERTIFICATE") or str(Path(certificate).absolute())
        told["key"] = environ.get("STUD_TLS_CLIENT_KEY") or str(Path(key).absolute())
    return told


def _other_name(certificate: x509.Certificate) -> str:
    """What a certificate is for, where it is not for this machine as it calls itself."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ""
    if any(str(address) == HOST for address in names.get_values_for_type(x509.IPAddress)):
        return ""
    return next(iter(names.get_values_for_type(x509.DNSName)), "")


class ServerTls:
    """One for a process."""

    def __init__(
        self, certificate: Path, key: Path, client_ca: Path | None, clock_s: Callable[[], float] = time.time
    ) -> None:
        """Reads the files. Raises TlsError."""
        self._files = certificate, key, client_ca
        self._clock_s = clock_s
        self._pair = read_pair(certificate, key, client_ca)
        self._given = self._pair
        self._problem = ""
        self._good_at = time.monotonic()
        self._tell("tls")
        if self.days_left <= 0:
            logger.error("certificate_expired", ended=self._end())

    @classmethod
    def of(cls, settings: ServiceSettings) -> ServerTls | None:
        """Returns None where no TLS is set. Raises TlsError."""
        certificate, key = settings.tls_certificate, settings.tls_key
        if certificate is None and key is None and settings.tls_client_ca is None:
            return None
        if certificate is None or key is None:
            raise TlsError("STUD_TLS_CERTIFICATE and STUD_TLS_KEY: want both, or neither and no STUD_TLS_CLIENT_CA")
        return cls(certificate, key, settings.tls_client_ca)

    def credentials(self) -> grpc.ServerCredentials:
        """Returns what a port is opened with."""
        mutual = self._pair.client_ca is not None
        renewed: Any = self._renewed  # the stubs do not know that it may return None
        return grpc.dynamic_ssl_server_credentials(_configuration(self._pair), renewed, mutual)

    def _renewed(self) -> grpc.ServerCertificateConfiguration | None:
        """Asked by gRPC; None = as before."""
        pair = self._pair
        if pair is self._given:
            return None
        self._given = pair
        return _configuration(pair)

    @property
    def days_left(self) -> float:
        """Days until the certificate ends; negative after that."""
        return (self._pair.ends_s - self._clock_s()) / DAY_S

    async def follow(self) -> None:
        """Looks at the files again and again. Never returns."""
        while True:
            await asyncio.sleep(LOOK_S)
            found = await aside(self._look, "look at certificates")
            if isinstance(found, str):
                if self._problem != found:
                    logger.error("trust_is_stale", source="certificate", why=found)
                self._problem = found
                continue
            self._problem, self._good_at = "", time.monotonic()
            if found != self._pair:
                self._pair = found
                self._tell("certificate_renewed")

    def _look(self) -> Pair | str:
        """What the files say, or what is wrong with them."""
        try:
            return read_pair(*self._files)
        except TlsError as why:
            return str(why)
        except Exception as why:  # noqa: BLE001  (a library at its wits' end must not end the service)
            return f"the files cannot be read ({type(why).__name__})"

    def stale_s(self) -> float:
        """For how many seconds the files could not be used; 0 = they can."""
        return time.monotonic() - self._good_at if self._problem else 0.0

    def _tell(self, event: str) -> None:
        mutual = self._pair.client_ca is not None
        logger.info(event, ends=self._end(), days_left=round(self.days_left, 1), client_certificates=mutual)

    def _end(self) -> str:
        return dt.datetime.fromtimestamp(self._pair.ends_s, dt.UTC).isoformat()


def _configuration(pair: Pair) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration([(pair.key, pair.certificate)], pair.client_ca)
