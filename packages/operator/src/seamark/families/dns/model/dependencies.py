"""What the controllers of the family are built with. One of each per operator."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from seamark.families.dns.model.entries import Ref, ZoneReport
from seamark.families.dns.model.indexes import Indexes, SpecReader
from seamark.families.dns.model.metrics import DnsMetrics
from seamark.families.dns.model.options import Options
from seamark.families.dns.model.responses import Responses
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.source import Collection


@dataclass(frozen=True)
class Dependencies:
    """`reports`: the entry of each zone about each object that has records there."""

    options: Options
    perform: Callable[[Any], Awaitable[None]]
    responses: Responses
    metrics: DnsMetrics
    specs: SpecReader
    indexes: Indexes
    reports: Collection[Ref, ZoneReport]
    competing: CompetingControllers
