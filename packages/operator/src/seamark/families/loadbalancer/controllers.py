"""Everything that the family runs, put together."""

from __future__ import annotations

from seamark.families.loadbalancer.agentendpoint.controller import controller as agent_endpoints
from seamark.families.loadbalancer.cloudendpoint.controller import controller as cloud_endpoints
from seamark.families.loadbalancer.domain.controller import controller as domains
from seamark.families.loadbalancer.edge import Timing, Work
from seamark.families.loadbalancer.hosts import Hosts
from seamark.families.loadbalancer.kept import KeptPlaces
from seamark.families.loadbalancer.places import Places
from seamark.families.loadbalancer.policy.controller import controller as policies
from seamark.families.loadbalancer.service.controller import Wiring
from seamark.families.loadbalancer.service.state import Options
from seamark.families.loadbalancer.sight import Sight
from seamark.providers.edge.protocol import EdgeProvider
from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.competing import CompetingControllers
from seamark_runtime.controller import Declaration, guarded
from seamark_runtime.upstreams import UpstreamRules


def controllers(
    provider: EdgeProvider, options: Options | None = None, timing: Timing | None = None, clock: Clock | None = None
) -> tuple[Declaration, ...]:
    options, timing = options or Options(), timing or Timing()
    clock = clock or SystemClock()
    work = Work(provider, timing, clock)
    sight, hosts = Sight(work), Hosts(drained=bool(options.drain))
    rules = UpstreamRules(options.cluster_domain, options.cross_namespace, options.cross_namespace_bindings)
    kept = KeptPlaces(timing.hold, clock)
    places = Places(work.reservations, kept, any_binding=rules.cross_namespace_bindings)
    declared = guarded(
        CompetingControllers("loadBalancerClass", options.lb_class),
        hosts.group(),
        Wiring(work, options).controller(),
        agent_endpoints(sight, hosts, places, timing, rules),
        cloud_endpoints(work, hosts, places, options),
        domains(work, places, options),
        policies(work.policy_refusal),
    )
    return (sight.group(), places.group(), *declared)
