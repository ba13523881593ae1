"""How the API server and a kubelet know each other: an authority of their own, in a directory.

The API server asks kubelets for logs over TLS. Started with `api_server_flags`, it trusts exactly this kubelet, and
this kubelet answers nobody else.
"""

from __future__ import annotations

import ssl
from pathlib import Path

from seamark.cluster.real.pki import Pki

CALLER = "kube-apiserver-kubelet-client"


class KubeletPki:
    """An authority for the way between an API server and its kubelets. What is in the directory already is used."""

    def __init__(self, directory: Path) -> None:
        self._pki = Pki(directory)

    @property
    def client_ca(self) -> Path:
        return self._pki.ca_cert

    def server(self, address: str) -> tuple[Path, Path]:
        """A certificate for a kubelet at this address."""
        return self._pki.server("kubelet", (address,))

    def client_context(self) -> ssl.SSLContext:
        """With which an API server in this process asks this kubelet for logs."""
        context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=str(self._pki.ca_cert))
        context.load_cert_chain(*self._pki.client(CALLER, ("system:masters",)))
        return context

    def api_server_flags(self) -> tuple[str, ...]:
        """What kube-apiserver has to be started with to ask this kubelet for logs."""
        certificate, key = self._pki.client(CALLER, ("system:masters",))
        return (
            f"--kubelet-certificate-authority={self._pki.ca_cert}",
            f"--kubelet-client-certificate={certificate}",
            f"--kubelet-client-key={key}",
            "--kubelet-preferred-address-types=InternalIP",
        )
