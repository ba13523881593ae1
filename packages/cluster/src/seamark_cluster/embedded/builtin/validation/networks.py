"""NetworkPolicies, IngressClasses and Endpoints."""

from __future__ import annotations

import ipaddress
import re

from seamark_cluster.embedded.builtin.validation.basics import cidr, ip_address, one_of, port
from seamark_cluster.embedded.machinery.errors import FieldError, Json, field_forbidden, invalid, required
from seamark_cluster.embedded.machinery.metadata import check_labels
from seamark_cluster.embedded.machinery.names import label, path_segment, subdomain

_PROTOCOLS = ("TCP", "UDP", "SCTP")


def check_network_policy(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    errors = _selector(spec.get("podSelector"), "spec.podSelector")
    for rules, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(rules) or ()):
            path = f"spec.{rules}[{index}]"
            for at, rule_port in enumerate(rule.get("ports") or ()):
                errors += _policy_port(rule_port, f"{path}.ports[{at}]")
            for at, peer in enumerate(rule.get(peers) or ()):
                errors += _peer(peer, f"{path}.{peers}[{at}]")
    for index, kind in enumerate(spec.get("policyTypes") or ()):
        errors += one_of(f"spec.policyTypes[{index}]", kind, ("Ingress", "Egress"))
    return errors


def _selector(selector: Json | None, path: str) -> list[FieldError]:
    return check_labels((selector or {}).get("matchLabels") or {}, f"{path}.matchLabels")


def _policy_port(item: Json, path: str) -> list[FieldError]:
    errors = one_of(f"{path}.protocol", item["protocol"], _PROTOCOLS)
    number = item.get("port")
    if isinstance(number, int):
        errors += port(f"{path}.port", number)
    elif number is not None:
        errors += [invalid(f"{path}.port", number, problem) for problem in port_name(number)]
    return errors


def port_name(name: str) -> list[str]:
    problems = []
    if len(name) > 15:
        problems.append("must be no more than 15 bytes")
    if not re.fullmatch("[-a-z0-9]+", name):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", name):
        problems.append("must contain at least one letter (a-z)")
    if "--" in name:
        problems.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def _peer(item: Json, path: str) -> list[FieldError]:
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if item.get(name) is not None]
    errors: list[FieldError] = []
    for name in given:
        errors += _block(item[name], f"{path}.{name}") if name == "ipBlock" else _selector(item[name], f"{path}.{name}")
    if not given:
        errors.append(required(path, "must specify a peer"))
    elif len(given) > 1 and "ipBlock" in given:
        errors.append(field_forbidden(path, "may not specify both ipBlock and another peer"))
    return errors


def _block(block: Json, path: str) -> list[FieldError]:
    whole = block.get("cidr", "")
    if not whole:
        return [required(f"{path}.cidr")]
    if errors := cidr(f"{path}.cidr", whole):
        return errors
    network = ipaddress.ip_network(whole, strict=False)
    for index, text in enumerate(block.get("except") or ()):
        where = f"{path}.except[{index}]"
        wrong = cidr(where, text)
        if not wrong:
            part = ipaddress.ip_network(text, strict=False)
            if part.network_address not in network or network.prefixlen >= part.prefixlen:
                wrong = [invalid(where, text, "must be a strict subset of `cidr`")]
        errors += wrong
    return errors


def check_ingress_class(obj: Json) -> list[FieldError]:
    spec = obj["spec"]
    controller = spec.get("controller", "")
    host, _, path = controller.partition("/")
    if not controller:
        errors = [required("spec.controller")]
    elif not host or not path:
        message = 'must be a domain-prefixed path (such as "acme.io/foo")'
        errors = [invalid("spec.controller", controller, message)]
    else:
        errors = [invalid("spec.controller", host, problem) for problem in subdomain(host)]
    return errors + (_parameters(spec["parameters"]) if spec.get("parameters") else [])


def check_ingress_class_update(new: Json, old: Json) -> list[FieldError]:
    new_spec, old_spec = new["spec"].get("controller", ""), old["spec"].get("controller", "")
    return [] if new_spec == old_spec else [invalid("spec.controller", new_spec, "field is immutable")]


def _parameters(given: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    path = "spec.parameters"
    if given.get("apiGroup") is not None:
        errors += [invalid(f"{path}.apiGroup", given["apiGroup"], item) for item in subdomain(given["apiGroup"])]
    for name in ("kind", "name"):
        text = given.get(name, "")
        errors += [invalid(f"{path}.{name}", text, problem) for problem in path_segment(text)]
        if not text:
            errors.append(required(f"{path}.{name}"))
    wrong = one_of(f"{path}.scope", given.get("scope"), ("Cluster", "Namespace"))
    if wrong:
        return errors + wrong
    if given["scope"] == "Namespace" and given.get("namespace") is None:
        errors.append(required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'"))
    if given["scope"] == "Cluster" and given.get("namespace") is not None:
        errors.append(field_forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return errors


def check_endpoints(obj: Json) -> list[FieldError]:
    errors: list[FieldError] = []
    for index, subset in enumerate(obj.get("subsets") or ()):
        path = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            errors.append(required(path, "must specify `addresses` or `notReadyAddresses`"))
        for field in ("addresses", "notReadyAddresses"):
            for at, address in enumerate(subset.get(field) or ()):
                errors += _endpoint_address(address["ip"], f"{path}.{field}[{at}].ip")
        ports = subset.get("ports") or []
        for at, subset_port in enumerate(ports):
            errors += _endpoint_port(subset_port, f"{path}.ports[{at}]", named=len(ports) > 1)
    return errors


def _endpoint_address(text: str, path: str) -> list[FieldError]:
    if errors := ip_address(path, text):
        return [*errors, invalid(path, text, "must be a valid IP address")]
    address = ipaddress.ip_address(text)
    if address.is_unspecified:
        return [invalid(path, text, f"may not be unspecified ({text})")]
    if address.is_loopback:
        return [invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")]
    if address.is_link_local:
        return [invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")]
    return []


def _endpoint_port(item: Json, path: str, *, named: bool) -> list[FieldError]:
    name = item.get("name", "")
    errors = [invalid(f"{path}.name", name, problem) for problem in (label(name) if name else ())]
    if named and not name:
        errors.append(required(f"{path}.name"))
    errors += port(f"{path}.port", item["port"])
    return errors + one_of(f"{path}.protocol", item["protocol"], ("SCTP", "TCP", "UDP"))
