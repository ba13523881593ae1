"""The certificates and keys of one control plane, created in a few milliseconds (elliptic curves, not RSA)."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = dt.timedelta(days=365)
SKEW = dt.timedelta(minutes=5)  # tolerates a clock that is set back a little


class Pki:
    """A certificate authority in a directory.

    - One CA signs the servers' and the clients' certificates.
    - An existing CA in the directory is used again, so a control plane can be started a second time.
    - Private keys are readable by their owner only.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.ca_cert.exists():
            key = serialization.load_pem_private_key((directory / "ca.key").read_bytes(), None)
            assert isinstance(key, ec.EllipticCurvePrivateKey)
            self._key, self._cert = key, x509.load_pem_x509_certificate(self.ca_cert.read_bytes())
            return
        self._key = _private_key(directory / "ca.key")
        self._cert = self._authority()
        self.ca_cert.write_bytes(self._cert.public_bytes(serialization.Encoding.PEM))

    @property
    def ca_cert(self) -> Path:
        return self.directory / "ca.crt"

    @property
    def ca_key(self) -> Path:
        return self.directory / "ca.key"

    def server(self, name: str, hosts: Sequence[str]) -> tuple[Path, Path]:
        """A certificate for a server with these names and addresses."""
        return self._issue(name, _subject(name), ExtendedKeyUsageOID.SERVER_AUTH, hosts)

    def client(self, user: str, groups: Sequence[str] = ()) -> tuple[Path, Path]:
        """A client certificate for this user in these groups."""
        file_name = "client-" + "".join(c if c.isalnum() or c in "-." else "_" for c in user)
        return self._issue(file_name, _subject(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH, ())

    def signing_key(self, name: str) -> tuple[Path, Path]:
        """A key pair for signing ServiceAccount tokens: private and public part."""
        private, public = self.directory / f"{name}.key", self.directory / f"{name}.pub"
        if not public.exists():
            key = _private_key(private)
            form = serialization.PublicFormat.SubjectPublicKeyInfo
            public.write_bytes(key.public_key().public_bytes(serialization.Encoding.PEM, form))
        return private, public

    def _authority(self) -> x509.Certificate:
        name = _subject("seamark-control-plane")
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        builder = self._builder(name, self._key).issuer_name(name)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        return builder.add_extension(usage, critical=True).sign(self._key, hashes.SHA256())

    def _issue(
        self, file_name: str, subject: x509.Name, usage: x509.ObjectIdentifier, hosts: Sequence[str]
    ) -> tuple[Path, Path]:
        cert_path, key_path = self.directory / f"{file_name}.crt", self.directory / f"{file_name}.key"
        key = _private_key(key_path)
        builder = self._builder(subject, key).issuer_name(self._cert.subject)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if hosts:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False
            )
        cert_path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        return cert_path, key_path

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = dt.datetime.now(dt.UTC)
        builder = x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(now - SKEW).not_valid_after(now + LIFETIME)


def _subject(user: str, groups: Sequence[str] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _private_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = ec.generate_private_key(ec.SECP256R1())
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    pem = key.private_bytes(encoding, form, serialization.NoEncryption())
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(pem)
    return key
