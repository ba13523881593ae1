"""Where the API server is and who we are there: from a kubeconfig, or from inside a pod.

- A kubeconfig is read in full (client certificate, token, credential plugin, OIDC, proxy, TLS server name) into one
  frozen value, so that a renewal can be compared with what was there before.
- A cluster's entry may say where its operator tells what it knows: `extensions`, by the name of `OPERATOR`.
- A user's mistake is an error of one line.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamark_runtime.credentialplugin import Plugin, PluginFailed
from seamark_runtime.errors import UserError
from seamark_runtime.kubeconfig import Entry, KubeconfigError, read
from seamark_runtime.oidc import id_token

OPERATOR = "seamark.dev/operator"
POD_SECRETS = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True)
class Connection:
    base_url: str
    ca_pem: str = ""
    certificate_pem: str = field(default="", repr=False)
    key_pem: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    verify: bool = True
    server_name: str = ""
    proxy: str = ""
    operator: str = ""

    def same_channel(self, other: Connection) -> bool:
        """Whether open connections can be used for the other, too: the token is sent with each request."""
        return _channel(self) == _channel(other)

    def tls(self) -> ssl.SSLContext | bool:
        if not self.base_url.startswith("https:"):
            return True
        try:
            return self._context()
        except ssl.SSLError as error:  # read in the middle of a rotation, a certificate and a key do not match
            reason = error.reason or "it can't be read"
            raise UserError(
                f"the certificates of {self.base_url} can't be used ({reason})", hint="check them"
            ) from None

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.ca_pem or None)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.certificate_pem:
            with tempfile.TemporaryDirectory() as folder:  # the ssl module takes files only
                certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
                certificate.write_text(self.certificate_pem)
                key.touch(mode=0o600)
                key.write_text(self.key_pem)
                context.load_cert_chain(certificate, key)
        return context


Load = Callable[[], Awaitable[Connection]]


def _channel(connection: Connection) -> tuple[object, ...]:
    beside = ("token", "operator")
    return tuple(getattr(connection, name) for name in connection.__dataclass_fields__ if name not in beside)


def connect(kubeconfig: str = "", context: str = "") -> Load:
    """How to (re)load the connection: inside a pod unless a kubeconfig is named."""
    if not kubeconfig and "KUBERNETES_SERVICE_HOST" in os.environ and (POD_SECRETS / "token").exists():
        return in_cluster

    async def load() -> Connection:
        return await from_kubeconfig(kubeconfig, context)

    return load


async def in_cluster() -> Connection:
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    host = f"[{host}]" if ":" in host else host
    return Connection(
        base_url=f"https://{host}:{port}",
        ca_pem=(POD_SECRETS / "ca.crt").read_text(),
        token=(POD_SECRETS / "token").read_text().strip(),
    )


async def from_kubeconfig(path: str, context: str) -> Connection:
    path = _existing(path or os.environ.get("KUBECONFIG") or "~/.kube/config")
    try:
        config = read(path)
    except KubeconfigError as error:
        raise UserError(f"kubeconfig {path}: {error}", hint="check that it is valid YAML") from None
    try:
        cluster, user = config.select(context)
        credentials = await _credentials(user)
        server = cluster.text("server").rstrip("/")
        if not server:
            raise KubeconfigError(f"{cluster.what} has no server")
        return Connection(
            base_url=server,
            ca_pem=cluster.content("certificate-authority"),
            certificate_pem=credentials.certificate_pem,
            key_pem=credentials.key_pem,
            token=credentials.token,
            verify=not cluster.flag("insecure-skip-tls-verify"),
            server_name=cluster.text("tls-server-name"),
            proxy=cluster.text("proxy-url"),
            operator=_operator(cluster.fields),
        )
    except PluginFailed as error:
        hint = "run it by hand to see why"
        raise UserError(f"kubeconfig {path}: {error}, and gave no credentials", hint=hint) from None
    except KubeconfigError as error:
        known = ", ".join(config.contexts) or "none"
        raise UserError(f"kubeconfig {path}: {error}", hint=f"its contexts are: {known}") from None


@dataclass(frozen=True)
class _Credentials:
    token: str = field(default="", repr=False)
    certificate_pem: str = field(default="", repr=False)
    key_pem: str = field(default="", repr=False)


async def _credentials(user: Entry) -> _Credentials:
    """A certificate and a token. The token is, in this order, the plugin's, the entry's, its file's, the issuer's."""
    certificate, key = user.content("client-certificate"), user.content("client-key")
    plugin = user.fields.get("exec")
    if isinstance(plugin, dict):
        status = await Plugin.parse(plugin).run()
        match status:
            case {"token": str(token)}:
                return _Credentials(token, certificate, key)
            case {"clientCertificateData": str(certificate), "clientKeyData": str(key)}:
                return _Credentials("", certificate, key)
            case _:
                raise PluginFailed(f"{plugin['command']} gave neither a token nor a certificate with its key")
    token = user.text("token") or user.file("tokenFile").strip()
    match user.fields.get("auth-provider"):
        case {"name": "oidc", "config": dict(provider)} if not token:
            token = await id_token(Entry(user.what, provider, user.folder))
        case {"name": str(name)} if not token and name != "oidc":
            raise KubeconfigError(f"{user.what}: the auth-provider {name} is not supported; use a credential plugin")
    return _Credentials(token, certificate, key)


def _operator(cluster: Mapping[str, Any]) -> str:
    """The URL that the cluster's entry has for it; empty if there is none that could be one."""
    known = {
        entry.get("name"): entry.get("extension")
        for entry in cluster.get("extensions") or ()
        if isinstance(entry, dict)
    }
    extension = known.get(OPERATOR)
    url = extension.get("url") if isinstance(extension, dict) else None
    return url if isinstance(url, str) else ""


def _existing(path: str) -> str:
    for part in path.split(os.pathsep):
        if part and not Path(part).expanduser().exists():
            raise UserError(f"no kubeconfig at {part}", hint="name one with --kubeconfig, or set KUBECONFIG")
    return path
