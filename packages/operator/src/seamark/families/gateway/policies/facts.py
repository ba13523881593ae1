"""What is read for the status of every kind of policy."""

from __future__ import annotations

from typing import Any

from seamark.families.gateway.model.dependencies import Dependencies
from seamark.families.gateway.policies.status import Results, previous_refusals
from seamark_runtime.api.meta import Condition, Key
from seamark_runtime.view import View


def previous(view: View, policy: Any, results: Results, dependencies: Dependencies) -> dict[Key, Condition]:
    """Its conditions of before a restart, at gateways whose data plane has not answered since."""
    found = previous_refusals(policy, dependencies.options.controller_name, results)
    return {gateway: each for gateway, each in found.items() if not dependencies.is_served(view, gateway)}
