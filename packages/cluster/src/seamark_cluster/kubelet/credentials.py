"""Mutual TLS between the API server and a kubelet: a CA of their own, in a directory.

The API server requests logs from kubelets over TLS. Started with `api_server_flags`, it trusts exactly this kubelet,
and this kubelet answers no other client.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from seamark_cluster.real.pki import Pki

CALLER = "kube-apiserver-kubelet-client"


class KubeletPki:
    """A CA for connections between an API server and its kubelets. Existing files in the directory are used."""

    def __init__(self, directory: Path) -> None:
        self._pki = Pki(directory)

    @property
    def client_ca(self) -> Path:
        return self._pki.ca_cert

    def server(self, address: str) -> tuple[Path, Path]:
        """A certificate for a kubelet at this address."""
        return self._pki.server("kubelet", (address,))

    def client_context(self) -> ssl.SSLContext:
        """The client certificate for an API server in this process."""
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(self._pki.ca_cert))
        context.load_cert_chain(*self._pki.client(CALLER, ("system:masters",)))
        return context

    def api_server_flags(self) -> tuple[str, ...]:
        """The flags of kube-apiserver for connections to this kubelet."""
        certificate, key = self._pki.client(CALLER, ("system:masters",))
        return (
            f"--kubelet-certificate-authority={self._pki.ca_cert}",
            f"--kubelet-client-certificate={certificate}",
            f"--kubelet-client-key={key}",
            "--kubelet-preferred-address-types=InternalIP",
        )
