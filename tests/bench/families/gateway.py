"""FAMILY=gateway: see gateway_routes for what is made, gateway_run for what is measured."""

from __future__ import annotations

from tests.bench.families.gateway_routes import GatewayScenario
from tests.bench.families.gateway_run import bench

__all__ = ["SCENARIO", "bench"]

SCENARIO = GatewayScenario()
