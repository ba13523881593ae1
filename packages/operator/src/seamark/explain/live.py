"""The evidence behind conditions, asked of the operator where it runs: it knows more than the cluster shows.

Without a response from an operator, the explanation states that and shows what the cluster knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import aiohttp
import msgspec

from seamark.explain import kinds
from seamark.explain.model import Hop
from seamark_runtime.api.meta import Key, Resource
from seamark_runtime.errors import Retry
from seamark_runtime.untrusted.bodies import read_body
from seamark_runtime.untrusted.decoding import Limits, decode_json

TIMEOUT = 3.0
MAX_OBJECTS = 1000  # objects in one question
RESPONSE_LIMITS = Limits(size=16 * 2**20, depth=10)  # an answer

ObjectRef = tuple[Resource, Key]
KnownEvidence = Mapping[ObjectRef, tuple[str, ...]]


async def live(hop: Hop, operator: str, token: str) -> tuple[Hop, str]:
    """The explanation with what the operator knows, and a note if there is none."""
    if not operator:
        return hop, "No operator was asked (--operator): this is what the cluster knows."
    if not token:
        return hop, "This kubeconfig has no token to show to the operator: this is what the cluster knows."
    try:
        return with_evidence(hop, await request_evidence(operator, token, objects_of(hop))), ""
    except Retry as error:
        return hop, f"The operator at {operator} {error.message}: this is what the cluster knows."


def objects_of(hop: Hop) -> list[ObjectRef]:
    """The objects to request evidence for: each once."""
    return [
        (below.resource, below.key) for below in hop.walk() if below.resource in kinds.KINDS and not below.repeated
    ][:MAX_OBJECTS]


async def request_evidence(
    operator: str, token: str, about: Sequence[ObjectRef], seconds: float = TIMEOUT
) -> KnownEvidence:
    """What the operator at this URL knows of these objects; `Retry` with a message that continues "The operator …"."""
    body = [{"kind": str(kind), "namespace": key.namespace, "name": key.name} for kind, key in about]
    try:
        timeout = aiohttp.ClientTimeout(total=seconds)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(
                f"{operator.rstrip('/')}/api/evidence",
                data=msgspec.json.encode(body),
                headers={"Authorization": f"Bearer {token}"},
                allow_redirects=False,
            ) as response,
        ):
            if response.status != 200:
                raise Retry(f"answered {response.status}")
            answer = await read_body(response.content.iter_any(), RESPONSE_LIMITS.size)
            evidence = decode_json(answer, list[tuple[str, ...]], RESPONSE_LIMITS)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise Retry(f"can't be asked ({str(error) or 'no answer in time'})") from None
    return dict(zip(about, evidence, strict=False))


def with_evidence(hop: Hop, known: KnownEvidence) -> Hop:
    hops = tuple(with_evidence(child, known) for child in hop.hops)
    return replace(hop, evidence=known.get((hop.resource, hop.key), ()) if not hop.repeated else (), hops=hops)
