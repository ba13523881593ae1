"""Certificates of an authority of the witness's own, made by openssl."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.witness.api import Json
from tests.witness.sandbox import run

Pair = tuple[str, str]  # certificate and key


class Authority:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "ca.pem"
        self._key = folder / "ca.key"
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(self._key)]
        run("openssl", "req", "-x509", *key, "-subj", "/CN=witness", "-days", "2", "-out", str(self.file))
        self._made = 0

    def issue(self, names: tuple[str, ...], *, expired: bool = False) -> Pair:
        """A certificate for these names; an expired one has ended yesterday."""
        self._made += 1
        stem = self._folder / f"leaf{self._made}"
        request, key, leaf, config = (stem.with_suffix(end) for end in (".csr", ".key", ".pem", ".cnf"))
        alternatives = ",".join(f"DNS:{name}" for name in names)
        config.write_text(f"subjectAltName={alternatives}\n")
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(key)]
        run("openssl", "req", "-new", *new, "-subj", f"/CN={names[0]}", "-out", str(request))
        signing = ["-CA", str(self.file), "-CAkey", str(self._key), "-CAcreateserial", "-extfile", str(config)]
        days = ["-days", "-1"] if expired else ["-days", "2"]
        run("openssl", "x509", "-req", "-in", str(request), *signing, *days, "-out", str(leaf))
        return leaf.read_text(), key.read_text()


def secret(namespace: str, name: str, pair: Pair) -> Json:
    certificate, key = (base64.b64encode(text.encode()).decode() for text in pair)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": certificate, "tls.key": key},
    }
