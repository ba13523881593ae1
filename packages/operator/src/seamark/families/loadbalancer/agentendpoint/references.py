"""The objects that an AgentEndpoint refers to by name, all of its own namespace. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from seamark_edge.api.ngrok import AgentEndpoint
from seamark_runtime.untrusted.names import InvalidName, check_name


def secrets(endpoint: AgentEndpoint) -> Iterator[tuple[str, str]]:
    """The Secrets that agents read for it, as (field, name)."""
    for number, reference in enumerate(endpoint.spec.client_certificate_refs or ()):
        yield f"spec.clientCertificateRefs[{number}].name", reference.name
    termination = endpoint.spec.tls_termination
    if termination is None:
        return
    yield "spec.tlsTermination.serverCertificateRef.name", termination.server_certificate_ref.name
    if termination.mutual_tls is not None:
        yield "spec.tlsTermination.mutualTLS.clientCAsRef.name", termination.mutual_tls.client_cas_ref.name


def bad_reference(endpoint: AgentEndpoint) -> str:
    """Which reference to a Secret is no name of an object; "" if all are names."""
    for field, name in secrets(endpoint):
        try:
            check_name(name)
        except InvalidName as bad:
            return f"{field}: {bad}"
    return ""


def awaited(endpoint: AgentEndpoint) -> str:
    """What agents need before they can hold it; "" if nothing."""
    names = sorted({name for _, name in secrets(endpoint)})
    return f"; agents need these Secrets of this namespace: {', '.join(names[:5])}" if names else ""
