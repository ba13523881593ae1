"""The whole family.

addresses ─► gateways ─► routes ─► counts
                 │          └────► translations ─► the data plane
                 └─────────────────────┘  each leaves reports; the status of every object is judged from them
"""

from __future__ import annotations

from seamark.core.controller import guarded
from seamark.core.waker import Declaration
from seamark.families.gateway.groups import Groups
from seamark.families.gateway.options import Options
from seamark.families.gateway.statuses import Statuses
from seamark.families.gateway.wiring import Wiring
from seamark.providers.dataplane.protocol import DataPlane


def controllers(plane: DataPlane, options: Options = Options()) -> tuple[Declaration, ...]:  # noqa: B008 - frozen
    wiring = Wiring(plane, options)
    return (*Groups(wiring).declarations(), *guarded(wiring.rivals, *Statuses(wiring).declarations()))
