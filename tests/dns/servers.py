"""Real name servers from the system's packages, on loopback, each in a directory of its own."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig
import dns.update
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from seamark.providers.dns.link import Server, TsigKey, tls_context
from seamark_cluster.real.ports import Ports

ADDRESS = "127.0.0.1"
SECRET = base64.b64encode(b"a secret of thirty-two bytes ...").decode()
KEY = TsigKey("seamark-key", SECRET)
ZONE = "example.test"
OTHER = "sub.example.test"
REVERSE = "2.0.192.in-addr.arpa"
DENIED = f"refused.{ZONE}"
ZONES = (ZONE, OTHER, REVERSE)


def eventually(condition: Callable[[], object], what: str, seconds: float = 40) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.02)


class NameServer:
    """A program that serves the zones. `kill` and `start` again keep port and zones."""

    program = ""

    def __init__(self, directory: Path) -> None:
        found = shutil.which(self.program, path="/usr/sbin:/usr/bin:/usr/local/sbin")
        assert found, f"{self.program} is not installed; see [system] in tools/stages.toml"
        self._binary = found
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._ports = Ports(ADDRESS)
        self.port = self._ports.reserve()
        self.process: subprocess.Popen[bytes] | None = None
        self.configure()
        self.start()

    def configure(self) -> None:
        raise NotImplementedError

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def start(self) -> None:
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.directory)
        eventually(self._answers, f"{self.program} answers; its log: {self._last_words()}")

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        self._ports.close()

    def server(self, key: TsigKey | None = KEY, timeout: float = 5.0) -> Server:
        return Server(ADDRESS, self.port, key, timeout=timeout)

    # ---- as a person with dig and nsupdate

    def dig(self, name: str, type_: str) -> list[str]:
        query = dns.message.make_query(name, type_)
        answer = dns.query.tcp(query, ADDRESS, port=self.port, timeout=5)
        return sorted(rdata.to_text() for rrset in answer.answer for rdata in rrset)

    def by_hand(self, act: Callable[[dns.update.UpdateMessage], None], zone: str = ZONE) -> None:
        key = KEY.key()
        update = dns.update.UpdateMessage(zone, keyring={key.name: key}, keyname=key.name)
        act(update)
        answer = dns.query.tcp(update, ADDRESS, port=self.port, timeout=5)
        assert answer.rcode() == dns.rcode.NOERROR, dns.rcode.to_text(answer.rcode())

    def _answers(self) -> bool:
        if self.process is not None and self.process.poll() is not None:
            raise AssertionError(f"{self.program} ended: {self._last_words()}")
        with contextlib.suppress(OSError, EOFError, dns.exception.DNSException):
            return all(self.dig(zone, "SOA") for zone in ZONES)
        return False

    def _last_words(self) -> str:
        return (self.directory / "log").read_text(errors="replace")[-2000:]

    def _zone_file(self, zone: str) -> Path:
        path = self.directory / f"{zone}.zone"
        if not path.exists():
            path.write_text(
                f"$TTL 300\n@ IN SOA ns.{zone}. admin.{zone}. 1 3600 600 86400 60\n@ IN NS ns.example.net.\n"
            )
        return path


class Bind(NameServer):
    """`writable=False`: the zones take no updates. `transfers=False`: they are not handed out."""

    program = "named"

    def __init__(self, directory: Path, *, writable: bool = True, transfers: bool = True) -> None:
        self._writable = writable
        self._transfers = transfers
        super().__init__(directory)

    def over_tls(self) -> Server:
        """The same server on its other port, whose certificate is trusted."""
        return Server(ADDRESS, self.tls_port, KEY, tls_context(str(self.directory / "cert.pem")), timeout=5.0)

    def configure(self) -> None:
        zones = "".join(self._zone(zone) for zone in ZONES)
        self.tls_port = self._ports.reserve()
        certify(self.directory)
        (self.directory / "named.conf").write_text(
            f"""
            key "{KEY.name}" {{ algorithm {KEY.algorithm}; secret "{KEY.secret}"; }};
            tls ours {{ cert-file "{self.directory}/cert.pem"; key-file "{self.directory}/key.pem"; }};
            options {{
              listen-on port {self.tls_port} tls ours {{ {ADDRESS}; }};
              directory "{self.directory}"; pid-file none; session-keyfile none;
              managed-keys-directory "{self.directory}";
              listen-on port {self.port} {{ {ADDRESS}; }}; listen-on-v6 {{ none; }};
              recursion no; dnssec-validation no; notify no; tcp-clients 1000;
            }};
            controls {{ }};
            {zones}
            """
        )

    def _zone(self, zone: str) -> str:
        grants = f'deny "{KEY.name}" name {DENIED}. ANY; grant "{KEY.name}" zonesub ANY;'
        updates = f"update-policy {{ {grants} }};" if self._writable else "allow-update { none; };"
        transfer = f'key "{KEY.name}"' if self._transfers else "none"
        return (
            f'zone "{zone}" {{ type primary; file "{self._zone_file(zone)}"; '
            f"{updates} allow-transfer {{ {transfer}; }}; }};\n"
        )

    def command(self) -> Sequence[str]:
        return [self._binary, "-f", "-c", str(self.directory / "named.conf"), "-n", "1", "-L", "named.log"]


def certify(directory: Path) -> None:
    """A key and a certificate for loopback that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "name server of tests")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(ADDRESS))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    form, secrecy = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (directory / "key.pem").write_bytes(key.private_bytes(pem, form, secrecy))
    (directory / "cert.pem").write_bytes(certificate.public_bytes(pem))


class Knot(NameServer):
    program = "knotd"

    def configure(self) -> None:
        zones = "".join(f"  - domain: {zone}\n    file: {self._zone_file(zone)}\n    acl: ours\n" for zone in ZONES)
        (self.directory / "db").mkdir(exist_ok=True)
        (self.directory / "knot.conf").write_text(
            f"server:\n    rundir: {self.directory}\n    listen: {ADDRESS}@{self.port}\n"
            f"    udp-workers: 1\n    tcp-workers: 1\n    background-workers: 1\n"
            f"database:\n    storage: {self.directory}/db\n"
            f"key:\n  - id: {KEY.name}\n    algorithm: {KEY.algorithm}\n    secret: {KEY.secret}\n"
            f"acl:\n  - id: ours\n    key: {KEY.name}\n    action: [transfer, update]\n"
            f"zone:\n{zones}"
        )

    def command(self) -> Sequence[str]:
        return [self._binary, "-c", str(self.directory / "knot.conf")]


class PowerDns(NameServer):
    program = "pdns_server"

    def configure(self) -> None:
        database = self.directory / "pdns.sqlite3"
        (self.directory / "pdns.conf").write_text(
            f"launch=gsqlite3\ngsqlite3-database={database}\ngsqlite3-dnssec=yes\n"
            f"local-address={ADDRESS}\nlocal-port={self.port}\nsocket-dir={self.directory}\n"
            f"dnsupdate=yes\nallow-dnsupdate-from=127.0.0.0/8\ndisable-axfr=no\nallow-axfr-ips=127.0.0.0/8\n"
            "receiver-threads=1\ndistributor-threads=1\ncache-ttl=0\nquery-cache-ttl=0\nnegquery-cache-ttl=0\n"
            "zone-cache-refresh-interval=0\nzone-metadata-cache-ttl=0\n"
        )
        schema = Path("/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql")
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.executescript(schema.read_text())
        self._util("import-tsig-key", KEY.name, KEY.algorithm, KEY.secret)
        for zone in ZONES:
            self._util("load-zone", zone, str(self._zone_file(zone)))
            self._util("set-kind", zone, "primary")
            self._util("set-meta", zone, "TSIG-ALLOW-DNSUPDATE", KEY.name)
            self._util("set-meta", zone, "TSIG-ALLOW-AXFR", KEY.name)
            self._util("set-meta", zone, "SOA-EDIT-DNSUPDATE", "INCREASE")

    def _util(self, *words: str) -> None:
        done = subprocess.run(
            ["/usr/bin/pdnsutil", f"--config-dir={self.directory}", *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr + done.stdout

    def command(self) -> Sequence[str]:
        return [self._binary, f"--config-dir={self.directory}", "--daemon=no", "--guardian=no"]
