"""The Domains of hosts: what is read, created and published."""

from __future__ import annotations

from functools import partial

from seamark.api.ngrokingress import Domain
from seamark.families.loadbalancer.hosts.ownership import ByHost
from seamark.families.loadbalancer.hosts.reconcile import desire, report
from seamark.families.loadbalancer.hosts.state import Seen
from seamark.families.loadbalancer.model.dependencies import Dependencies
from seamark.families.loadbalancer.model.hosts import host_of, named_host
from seamark.families.loadbalancer.model.names import CONTROLLER_NAME, OURS
from seamark.families.loadbalancer.model.options import Options
from seamark_edge.api.ngrok import AgentEndpoint, CloudEndpoint
from seamark_runtime.api.meta import Key
from seamark_runtime.cache import Index
from seamark_runtime.calls import Results
from seamark_runtime.controller import CollectionController, Declaration, Output, Reads, Writes
from seamark_runtime.view import View


def _keys_of(endpoint: AgentEndpoint | CloudEndpoint) -> tuple[Key, ...]:
    host = "" if endpoint.deleting else named_host(endpoint)
    return (Key(endpoint.metadata.namespace, host),) if host else ()


def _key_of_domain(domain: Domain) -> tuple[Key, ...]:
    return (Key(domain.metadata.namespace, host_of(domain)),)


def _ours(domain: Domain) -> tuple[Key, ...]:
    """After a restart, Domains that were created for endpoints which were deleted meanwhile are keys, too."""
    return _key_of_domain(domain) if domain.label(CONTROLLER_NAME) == OURS else ()


AGENTS = Index(AgentEndpoint, _keys_of, "agent endpoints of a host")
CLOUDS = Index(CloudEndpoint, _keys_of, "cloud endpoints of a host")
DOMAINS = Index(Domain, _key_of_domain, "domains of a host")


def observe(options: Options, view: View, key: Key, _results: Results) -> Seen | None:
    if options.drain:
        return None  # Domains are neither created nor removed: each is released as it is
    wanted = bool(view.by(AGENTS, key) or view.by(CLOUDS, key))
    theirs = [domain for domain in view.by(DOMAINS, key) if domain.label(CONTROLLER_NAME) != OURS]
    standing = [domain for domain in theirs if not domain.deleting]
    return Seen(key, standing[0] if standing else None, wanted)


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    hosts = CollectionController(
        name="hosts",
        keyed={AgentEndpoint: _keys_of, CloudEndpoint: _keys_of, Domain: _ours},
        observe=partial(observe, dependencies.options),
        desire=desire,
        outputs=(Output(dependencies.hosts, report),),
        reads=Reads(indexes=(AGENTS, CLOUDS, DOMAINS)),
        writes=Writes(children=(Domain,), ownership=ByHost()),
    )
    return (hosts,)
