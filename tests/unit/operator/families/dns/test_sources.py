"""Names of other objects, by annotations and status."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.families.dns.sourceobject.reconcile import announce, problems
from seamark.families.dns.sourceobject.state import Seen
from seamark.families.dns.sources.annotations import seconds
from seamark.families.dns.sources.endpoints import endpoints_of, names_of
from seamark.families.dns.sources.kinds import SOURCES, AddressSources
from seamark.families.dns.sources.parents import parent_of
from seamark_runtime.api.gateway import Gateway, ListenerSet
from seamark_runtime.api.meta import Key, Object
from seamark_runtime.apply import Answers

NEW, OLD = "external-dns.kubernetes.io/", "external-dns.alpha.kubernetes.io/"
BALANCED = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"ip": "2001:db8::1"}]}}


def parent(name: str, *hostnames: str, address: str = "", gateway: str = "") -> dict[str, Any]:
    """With a listener for each of these host names; without any, one for all."""
    listeners = [
        {"name": f"l{number}", "port": 80, "protocol": "HTTP", "hostname": hostname}
        for number, hostname in enumerate(hostnames or ("",))
    ]
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"listeners": listeners, **({"parentRef": {"name": gateway}} if gateway else {})},
        "status": {"addresses": [{"value": address}]} if address else {},
    }


GATEWAY = parent("gw", address="192.0.2.7")
PARENTS: dict[str, tuple[type[Object], dict[str, Any]]] = {
    "gw": (Gateway, GATEWAY),
    "org": (Gateway, parent("org", "*.org.test", "exact.test", address="192.0.2.8")),
    "set": (ListenerSet, parent("set", "*.set.test", gateway="org")),
}


def desired(source: str, **manifest: Any) -> list[str]:
    """What it desires: `www.example.org A 192.0.2.1 60`."""
    kind = SOURCES[source]
    annotations = manifest.pop("annotations", {})
    meta = {"name": "x", "namespace": "ns", "annotations": annotations, "generation": 2}
    parents = {name: msgspec.convert(raw, kind) for name, (kind, raw) in PARENTS.items()}

    def get(_kind: type[Object], key: Key) -> Any:
        return parents.get(key.name) if key.namespace == "ns" else None

    obj = msgspec.convert({"metadata": meta, **manifest}, kind.kind)
    made = endpoints_of(kind, obj, AddressSources(partial(parent_of, get)))
    return [
        f"{endpoint.dns_name} {endpoint.record_type} {','.join(endpoint.targets)} {endpoint.record_ttl}"
        for endpoint in made
    ]


def accepted(status: str = "True", generation: int | None = 2, **reference: Any) -> dict[str, Any]:
    """A parent's entry in the status of a route."""
    condition = {"type": "Accepted", "status": status, "reason": "A", "message": "", "lastTransitionTime": ""}
    about = {"observedGeneration": generation} if generation is not None else {}
    return {
        "parentRef": {"name": "gw", **reference},
        "controllerName": "example.com/test",
        "conditions": [{**condition, **about}],
    }


def routed(*entries: dict[str, Any], names: list[str] | None = None, **more: Any) -> dict[str, Any]:
    """A route that names the parents of these entries."""
    parents = {"parentRefs": [entry["parentRef"] for entry in entries]}
    return {"spec": {"hostnames": names or [], **parents}, "status": {"parents": list(entries)}, **more}


LB = {"spec": {"type": "LoadBalancer"}, "status": BALANCED}


@pytest.mark.parametrize(
    ("source", "manifest", "expected"),
    {
        "a load balancer": (
            "service",
            {**LB, "annotations": {f"{NEW}hostname": "a.test, b.test", f"{NEW}ttl": "60"}},
            [
                "a.test A 192.0.2.1 60",
                "a.test AAAA 2001:db8::1 60",
                "b.test A 192.0.2.1 60",
                "b.test AAAA 2001:db8::1 60",
            ],
        ),
        "the old prefix": (
            "service",
            {"spec": {"type": "LoadBalancer"}, "annotations": {f"{OLD}hostname": "a.test", f"{OLD}target": "lb.test"}},
            ["a.test CNAME lb.test 0"],
        ),
        "the new prefix counts": (
            "service",
            {
                **LB,
                "annotations": {f"{OLD}hostname": "old.test", f"{NEW}hostname": "new.test", f"{NEW}target": "t.test"},
            },
            ["new.test CNAME t.test 0"],
        ),
        "no address yet": (
            "service",
            {"spec": {"type": "LoadBalancer"}, "annotations": {f"{NEW}hostname": "a.test"}},
            [],
        ),
        "no name": ("service", LB, []),
        "somebody else's": (
            "service",
            {**LB, "annotations": {f"{NEW}hostname": "a.test", f"{NEW}controller": "other"}},
            [],
        ),
        "an internal name": (
            "service",
            {"spec": {"clusterIP": "10.0.0.1"}, "annotations": {f"{NEW}internal-hostname": "in.test"}},
            ["in.test A 10.0.0.1 0"],
        ),
        "a headless service has no internal address": (
            "service",
            {"spec": {"clusterIP": "None"}, "annotations": {f"{NEW}internal-hostname": "in.test"}},
            [],
        ),
        "an external name": (
            "service",
            {"spec": {"type": "ExternalName", "externalName": "far.test"}, "annotations": {f"{NEW}hostname": "a.test"}},
            ["a.test CNAME far.test 0"],
        ),
        "an ingress": (
            "ingress",
            {"spec": {"rules": [{"host": "a.test"}, {}], "tls": [{"hosts": ["b.test"]}]}, "status": BALANCED},
            ["a.test A 192.0.2.1 0", "a.test AAAA 2001:db8::1 0", "b.test A 192.0.2.1 0", "b.test AAAA 2001:db8::1 0"],
        ),
        "a gateway": (
            "gateway",
            {"status": GATEWAY["status"], "annotations": {f"{NEW}hostname": "g.test"}},
            ["g.test A 192.0.2.7 0"],
        ),
        "a route": ("httproute", routed(accepted(), names=["r.test"]), ["r.test A 192.0.2.7 0"]),
        "a route that is not accepted": ("httproute", routed(accepted("False"), names=["r.test"]), []),
        "a controller that names no generation": (
            "httproute",
            routed(accepted(generation=None), names=["r.test"]),
            ["r.test A 192.0.2.7 0"],
        ),
        "a route that was accepted in an earlier generation": (
            "httproute",
            routed(accepted(generation=1), names=["r.test"]),
            [],
        ),
        "one parent has not answered for this generation yet": (
            "httproute",
            routed(accepted(), accepted(generation=1, name="org"), names=["a.org.test"]),
            [],
        ),
        "an earlier controller of the same parent": (
            "httproute",
            routed(accepted(generation=1), accepted(), names=["r.test"]),
            ["r.test A 192.0.2.7 0"],
        ),
        "a parent that the route does not name any more": (
            "httproute",
            {**routed(accepted(), names=["r.test"]), "spec": {"hostnames": ["r.test"]}},
            [],
        ),
        "each name leads to the gateways with a listener for it": (
            "httproute",
            routed(accepted(), accepted(name="org"), names=["a.org.test", "r.test"]),
            ["a.org.test A 192.0.2.7,192.0.2.8 0", "r.test A 192.0.2.7 0"],
        ),
        "a name that no listener has": (
            "httproute",
            routed(accepted(name="org"), names=["a.org.test", "r.test"]),
            ["a.org.test A 192.0.2.8 0"],
        ),
        "a section narrows the listeners": (
            "httproute",
            routed(accepted(name="org", sectionName="l1"), names=["a.org.test", "exact.test"]),
            ["exact.test A 192.0.2.8 0"],
        ),
        "a wildcard is served under the name of the listener": (
            "httproute",
            routed(accepted(name="org", sectionName="l1"), names=["*.test"]),
            ["exact.test A 192.0.2.8 0"],
        ),
        "a listener set leads to its gateway": (
            "httproute",
            routed(accepted(name="set", kind="ListenerSet"), names=["a.set.test", "a.org.test"]),
            ["a.set.test A 192.0.2.8 0"],
        ),
        "a Service as a parent is no gateway": (
            "httproute",
            routed(accepted(group="", kind="Service"), names=["r.test"]),
            [],
        ),
        "a listener of a protocol that only its controller knows": (
            "tlsroute",
            routed(accepted(), names=["r.test"]),
            ["r.test A 192.0.2.7 0"],
        ),
        "an annotated name of a route is not narrowed": (
            "httproute",
            routed(accepted(name="org"), names=["a.org.test"], annotations={f"{NEW}hostname": "n.test"}),
            ["a.org.test A 192.0.2.8 0", "n.test A 192.0.2.8 0"],
        ),
        "a target of the route replaces where it is served": (
            "httproute",
            routed(accepted(name="org"), names=["r.test"], annotations={f"{NEW}target": "cdn.test"}),
            ["r.test CNAME cdn.test 0"],
        ),
        "a TCP route has its name by annotation": (
            "tcproute",
            routed(accepted(), annotations={f"{NEW}hostname": "t.test"}),
            ["t.test A 192.0.2.7 0"],
        ),
        "a name twice, in two spellings": (
            "service",
            {
                **LB,
                "annotations": {f"{NEW}hostname": "bücher.test, XN--BCHER-KVA.test.", f"{NEW}target": "t"},
            },
            ["bücher.test CNAME t 0"],
        ),
        "an internal name in another spelling": (
            "service",
            {
                **LB,
                "spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1"},
                "annotations": {f"{NEW}hostname": "IN.test.", f"{NEW}internal-hostname": "in.test"},
            },
            ["in.test A 10.0.0.1 0"],
        ),
        "a scoped address has no way back": (
            "service",
            {"annotations": {f"{NEW}hostname": "a.test", f"{NEW}target": "fe80::1%eth0", f"{NEW}record-type": "ptr"}},
            ["a.test AAAA fe80::1%eth0 0"],
        ),
    }.values(),
)
def test_an_object_has_these_names(source: str, manifest: dict[str, Any], expected: list[str]) -> None:
    assert desired(source, **manifest) == expected


def test_a_deleted_object_has_no_names() -> None:
    kind = SOURCES["ingress"]
    manifest = {
        "metadata": {"name": "x", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"rules": [{"host": "a"}]},
    }
    assert names_of(kind, msgspec.convert(manifest, kind.kind)) == []


TOO_LONG = 2**31  # what a record then says is no TTL


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("", 0), ("60", 60), ("0060", 60), ("1m30s", 90), ("2h", 7200), ("nonsense", 0)),
        *(("9" * 5000, TOO_LONG), ("9" * 50 + "h", TOO_LONG), ("9" * 5000 + "s", 0), ("²", 0)),
    ],
)
def test_a_ttl_is_in_seconds_or_a_duration(text: str, expected: int) -> None:
    assert seconds(text) == expected


def notices(**annotations: str) -> list[str]:
    kind = SOURCES["service"]
    meta = {"name": "x", "namespace": "ns", "annotations": {f"{NEW}{name}": text for name, text in annotations.items()}}
    return list(problems(kind, msgspec.convert({"metadata": meta}, kind.kind)))


def test_a_name_that_can_t_be_served_is_reported_on_its_object() -> None:
    assert notices(hostname="good.test, elsewhere.org", ttl="1m") == []
    assert notices(target="no names, no matter") == []
    [name] = notices(hostname=r"good.test, a\\.secret.test")
    assert name.startswith(r"the name 'a\\\\.secret.test' has the label")
    [target] = notices(hostname="good.test", target="192.0.2.1, a b")
    assert target.startswith("the annotation target: 'a b' has the label")
    [ttl] = notices(hostname="good.test", ttl="soon")
    assert ttl == "the annotation ttl: 'soon' is not a number of seconds or a duration such as 1m30s"


def test_many_problems_are_one_event_of_bounded_length() -> None:
    [notice] = announce(Seen(tuple(f"the name {number}" for number in range(100))), Answers({}, {}))
    assert notice.reason == "InvalidDNSName"
    assert notice.message.endswith("the name 4 (and 95 more)")


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=10))
def test_annotations_of_any_content_are_read(hostname: str, target: str, ttl: str) -> None:
    annotations = {"hostname": hostname, "target": target, "ttl": ttl, "record-type": "ptr"}
    notices(**annotations)
    desired("service", annotations={f"{NEW}{name}": text for name, text in annotations.items()})
