"""The evidence behind conditions, asked of the operator where it runs: it knows more than the cluster shows.

Without an operator that answers, an explanation says so, and shows what the cluster knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import aiohttp
import msgspec

from seamark.api.meta import Key, Resource
from seamark.explain import kinds
from seamark.explain.model import Hop

PATIENCE = 3.0
MOST = 1000  # objects in one question

Known = Mapping[tuple[Resource, Key], tuple[str, ...]]


async def live(hop: Hop, operator: str, token: str) -> tuple[Hop, str]:
    """The explanation with what the operator knows, and a word where nothing was to be had."""
    if not operator:
        return hop, "No operator was asked (--operator): this is what the cluster knows."
    if not token:
        return hop, "This kubeconfig has no token to show to the operator: this is what the cluster knows."
    asked = [(one.resource, one.key) for one in hop.walk() if one.resource in kinds.KINDS and not one.again][:MOST]
    body = [{"kind": str(kind), "namespace": key.namespace, "name": key.name} for kind, key in asked]
    try:
        timeout = aiohttp.ClientTimeout(total=PATIENCE)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(
                f"{operator.rstrip('/')}/api/evidence",
                data=msgspec.json.encode(body),
                headers={"Authorization": f"Bearer {token}"},
            ) as response,
        ):
            if response.status != 200:
                return hop, f"The operator at {operator} answered {response.status}: this is what the cluster knows."
            told = msgspec.json.decode(await response.read(), type=list[tuple[str, ...]])
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        words = str(error) or "no answer in time"
        return hop, f"The operator at {operator} can't be asked ({words}): this is what the cluster knows."
    return proven(hop, dict(zip(asked, told, strict=False))), ""


def proven(hop: Hop, known: Known) -> Hop:
    below = tuple(proven(one, known) for one in hop.hops)
    return replace(hop, evidence=known.get((hop.resource, hop.key), ()) if not hop.again else (), hops=below)
