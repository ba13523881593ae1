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

PATIENCE = 3.0
MOST = 1000  # objects in one question
LARGEST = Limits(size=16 * 2**20, depth=10)  # an answer

Place = tuple[Resource, Key]
Known = Mapping[Place, tuple[str, ...]]


async def live(hop: Hop, operator: str, token: str) -> tuple[Hop, str]:
    """The explanation with what the operator knows, and a word where nothing was to be had."""
    if not operator:
        return hop, "No operator was asked (--operator): this is what the cluster knows."
    if not token:
        return hop, "This kubeconfig has no token to show to the operator: this is what the cluster knows."
    try:
        return proven(hop, await ask(operator, token, places(hop))), ""
    except Retry as trouble:
        return hop, f"The operator at {operator} {trouble.message}: this is what the cluster knows."


def places(hop: Hop) -> list[Place]:
    """What is worth asking for: each object once."""
    return [(one.resource, one.key) for one in hop.walk() if one.resource in kinds.KINDS and not one.again][:MOST]


async def ask(operator: str, token: str, about: Sequence[Place], patience: float = PATIENCE) -> Known:
    """What the operator at this URL knows of these objects; `Retry` with a message that continues "The operator …"."""
    body = [{"kind": str(kind), "namespace": key.namespace, "name": key.name} for kind, key in about]
    try:
        timeout = aiohttp.ClientTimeout(total=patience)
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
            answer = await read_body(response.content.iter_any(), LARGEST.size)
            told = decode_json(answer, list[tuple[str, ...]], LARGEST)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise Retry(f"can't be asked ({str(error) or 'no answer in time'})") from None
    return dict(zip(about, told, strict=False))


def proven(hop: Hop, known: Known) -> Hop:
    below = tuple(proven(one, known) for one in hop.hops)
    return replace(hop, evidence=known.get((hop.resource, hop.key), ()) if not hop.again else (), hops=below)
