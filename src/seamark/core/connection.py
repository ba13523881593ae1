"""Where the API server is and who we are there: from a kubeconfig, or from inside a pod.

- A kubeconfig is read in full (client certificate, token, exec plugin, OIDC, proxy, TLS server name) by the official
  package; what it says is kept as one frozen value, so that a renewal can be compared with what was there before.
- A cluster's entry may say where its operator tells what it knows: `extensions`, by the name of `OPERATOR`.
- Mistakes that a person can mend are told in one line.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seamark.core.errors import UserError

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
        """Whether only the token differs: then open connections can be kept."""
        return _without_token(self) == _without_token(other)

    def tls(self) -> ssl.SSLContext | bool:
        if not self.base_url.startswith("https:"):
            return True
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


def _without_token(connection: Connection) -> tuple[object, ...]:
    return tuple(getattr(connection, name) for name in connection.__dataclass_fields__ if name != "token")


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
    from kubernetes.aio import client, config  # noqa: PLC0415  takes half a second; not needed inside a pod

    path = _existing(path or os.environ.get("KUBECONFIG") or "~/.kube/config")
    settings = client.Configuration()
    load: Any = config.load_kube_config  # it has no types
    try:
        loader = await load(path, context or None, client_configuration=settings, persist_config=False)
    except config.ConfigException as error:
        known = ", ".join(_contexts(path)) or "none"
        words = " ".join(str(error).split()).removeprefix("Invalid kube-config file. ")
        raise UserError(f"kubeconfig {path}: {words}", hint=f"its contexts are: {known}") from None
    except Exception as error:
        words = " ".join(str(error).split())
        raise UserError(f"kubeconfig {path} can't be read ({words})", hint="check that it is valid YAML") from None
    token = settings.api_key.get("BearerToken", "").removeprefix("Bearer ")
    if not token and not settings.cert_file and "exec" in (loader._user or ()):
        # The package only logs it, and would go on as nobody.
        command = loader._user["exec"]["command"]
        raise UserError(f"kubeconfig {path}: {command} gave no credentials", hint="run it by hand to see why")
    return Connection(
        base_url=settings.host.rstrip("/"),
        ca_pem=_read(settings.ssl_ca_cert),
        certificate_pem=_read(settings.cert_file),
        key_pem=_read(settings.key_file),
        token=token,
        verify=bool(settings.verify_ssl),
        server_name=settings.tls_server_name or "",
        proxy=settings.proxy or "",
        operator=_operator(loader._cluster.value),
    )


def _operator(cluster: dict[str, Any]) -> str:
    """The URL that the cluster's entry has for it; empty if there is none that could be one."""
    known = {one.get("name"): one.get("extension") for one in cluster.get("extensions") or () if isinstance(one, dict)}
    told = known.get(OPERATOR)
    url = told.get("url") if isinstance(told, dict) else None
    return url if isinstance(url, str) else ""


def _existing(path: str) -> str:
    for part in path.split(os.pathsep):
        if part and not Path(part).expanduser().exists():
            raise UserError(f"no kubeconfig at {part}", hint="name one with --kubeconfig, or set KUBECONFIG")
    return path


def _contexts(path: str) -> list[str]:
    from kubernetes.aio import config  # noqa: PLC0415

    list_contexts: Any = config.list_kube_config_contexts
    try:
        contexts, _ = list_contexts(path)
    except Exception:
        return []
    return [str(context["name"]) for context in contexts]


def _read(path: str | None) -> str:
    return Path(path).read_text() if path else ""
