"""The load balancer family in the simulator."""

from tests.simulation.loadbalancer.scenario import LoadBalancerScenario

__all__ = ["LoadBalancerScenario"]
