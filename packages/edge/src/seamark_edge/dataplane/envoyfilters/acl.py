"""Access by the address of the client: the longest range that has it decides."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_network

from envoy.config.core.v3 import address_pb2
from envoy.config.rbac.v3 import rbac_pb2 as rules_pb2
from envoy.extensions.filters.http.rbac.v3 import rbac_pb2

from seamark_edge.dataplane.filters import Acl

NAME = "envoy.filters.http.rbac/acl"
EVERYTHING = ("0.0.0.0/0", "::/0")
Network = IPv4Network | IPv6Network


def idle() -> rbac_pb2.RBAC:
    return rbac_pb2.RBAC()


def on_route(setting: Acl) -> rbac_pb2.RBACPerRoute:
    """An address is let in by a range that allows it, unless a longer range in that one denies it."""
    made = rbac_pb2.RBACPerRoute()
    made.rbac.rules.action = rules_pb2.RBAC.ALLOW
    actions = dict.fromkeys(EVERYTHING, setting.allow) | dict(setting.ranges)
    networks = [(ip_network(text), allow) for text, allow in actions.items()]
    denied = [network for network, allow in networks if not allow]
    found = [principal(network, denied) for network, allow in networks if allow]
    if found:  # without any policy nothing is let in
        policy = made.rbac.rules.policies["acl"]
        policy.permissions.add(any=True)
        policy.principals.extend(found)
    return made


def principal(network: Network, denied: list[Network]) -> rules_pb2.Principal:
    inside = [other for other in denied if contains(network, other)]
    if not inside:
        return rules_pb2.Principal(remote_ip=cidr(network))
    made = rules_pb2.Principal()
    made.and_ids.ids.add(remote_ip=cidr(network))
    others = made.and_ids.ids.add().not_id.or_ids
    for other in inside:
        others.ids.add(remote_ip=cidr(other))
    return made


def contains(network: Network, other: Network) -> bool:
    if isinstance(network, IPv4Network) and isinstance(other, IPv4Network):
        return other.subnet_of(network)
    return isinstance(network, IPv6Network) and isinstance(other, IPv6Network) and other.subnet_of(network)


def cidr(network: Network) -> address_pb2.CidrRange:
    made = address_pb2.CidrRange(address_prefix=str(network.network_address))
    made.prefix_len.value = network.prefixlen
    return made
