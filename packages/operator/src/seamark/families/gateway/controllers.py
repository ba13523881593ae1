"""The whole family.

addresses ─► gateways ─► routes ─► counts
                 │          └────► translations ─► the data plane
                 └─────────────────────┘  each leaves reports; the status of every object is judged from them
"""

from __future__ import annotations

from seamark.families.gateway.groups import Groups
from seamark.families.gateway.options import Options
from seamark.families.gateway.statuses import Statuses
from seamark.families.gateway.wiring import Wiring
from seamark_edge.dataplane.protocol import DataPlane
from seamark_runtime.controller import Declaration, guarded


def controllers(plane: DataPlane, options: Options = Options()) -> tuple[Declaration, ...]:  # noqa: B008 - frozen
    wiring = Wiring(plane, options)
    return (*Groups(wiring).declarations(), *guarded(wiring.competing, *Statuses(wiring).declarations()))
