"""Everything that the family runs, put together."""

from __future__ import annotations

from seamark.core.clock import Clock, SystemClock
from seamark.core.controller import guarded
from seamark.core.rivals import Rivals
from seamark.core.waker import Declaration
from seamark.families.loadbalancer.agentendpoint.controller import controller as agent_endpoints
from seamark.families.loadbalancer.cloudendpoint.controller import controller as cloud_endpoints
from seamark.families.loadbalancer.domain.controller import controller as domains
from seamark.families.loadbalancer.edge import Timing, Work
from seamark.families.loadbalancer.hosts import Hosts
from seamark.families.loadbalancer.policy.controller import controller as policies
from seamark.families.loadbalancer.service.controller import Wiring
from seamark.families.loadbalancer.service.state import Options
from seamark.families.loadbalancer.sight import Sight
from seamark.providers.edge.protocol import EdgeProvider


def controllers(
    provider: EdgeProvider, options: Options | None = None, timing: Timing | None = None, clock: Clock | None = None
) -> tuple[Declaration, ...]:
    options, timing = options or Options(), timing or Timing()
    work = Work(provider, timing, clock or SystemClock())
    sight, hosts = Sight(work), Hosts(drained=bool(options.drain))
    declared = guarded(
        Rivals("loadBalancerClass", options.lb_class),
        hosts.group(),
        Wiring(work, options).controller(),
        agent_endpoints(sight, hosts, timing),
        cloud_endpoints(work, hosts, options),
        domains(work, options),
        policies(),
    )
    return (sight.group(), *declared)
