"""What was once found, as manifests that a tenant can write. All of it runs in every run, the fast one too."""

from __future__ import annotations

from typing import Any

from tests.hostile.bases import Base
from tests.hostile.cases import Case
from tests.hostile.corpus import Entry
from tests.hostile.documents import Raw, bomb, nested
from tests.hostile.known_names import CANARY, CANARY_HOST, CANARY_TLS, CANARY_WORDS, HOSTILE, ZONE
from tests.hostile.metadata import written
from tests.hostile.texts import DIGITS, EXPRESSIONS, MANY

Json = dict[str, Any]
NGROK, SCORE = "ngrok.k8s.ngrok.com/v1alpha1", "score.dev/v1b1"
GATEWAY, DNS = "gateway.networking.k8s.io/v1", "externaldns.k8s.io/v1alpha1"
SECRET = f"../../{CANARY}/secrets/{CANARY_TLS}"
WORDS = f"../../{CANARY}/secrets/{CANARY_WORDS}"
DEEPER = {"spec": {"trafficPolicy": {"inline": {"on_tcp_connect": nested(1_200)}}}}  # a patch
POOL = 24  # endpoints that forward to each other


def instance(name: str, api: str, kind: str, spec: Json, *beside: Json, **more: Any) -> Case:
    manifest = {"apiVersion": api, "kind": kind, "metadata": {"name": "{name}"}, "spec": spec}
    base = Base(manifest, beside)
    return Case(kind, ("spec",), Entry("instance", name, None), base, must=True, label="(instance)", **more)


def secured(name: str, protocol: str = "HTTPS") -> Json:
    tls = {"mode": "Terminate", "certificateRefs": [{"name": name}]}
    return {
        "gatewayClassName": "kgateway",
        "listeners": [{"name": "https", "port": 443, "protocol": protocol, "tls": tls}],
    }


def ended(name: str) -> Json:
    return {
        "url": "tls://{name}.hostile.example.com",
        "upstream": {"url": "tcp://web:80"},
        "tlsTermination": {"serverCertificateRef": {"name": name}},
    }


def policed(policy: Any, url: str = "tls://{name}.cloud.example.com") -> Json:
    return {"url": url, "trafficPolicy": {"inline": policy}}


def when(*expressions: str) -> Json:
    return {"on_tcp_connect": [{"expressions": list(expressions), "actions": [{"type": "deny"}]}]}


def workload(container: Json, **more: Json) -> Json:
    return {"containers": {"main": {"image": "seamark.dev/echo:v1", **container}}, **more}


def records(type_: str, *targets: str, name: str = "{name}." + ZONE) -> Json:
    return {"endpoints": [{"dnsName": name, "recordType": type_, "targets": list(targets)}]}


def upstream(url: str) -> Json:
    return {"url": "tcp://{name}.internal:9000", "upstream": {"url": url}, "bindings": ["internal"]}


def pool() -> tuple[Json, ...]:
    """Endpoints in one pool that forward to the pool."""
    policy = {
        "on_tcp_connect": [{"actions": [{"type": "forward-internal", "config": {"url": "tcp://{name}.internal:1"}}]}]
    }
    spec = {"url": "tcp://{name}.internal:1", "poolingEnabled": True, "trafficPolicy": {"inline": policy}}
    return tuple(
        {"apiVersion": NGROK, "kind": "CloudEndpoint", "metadata": {"name": f"{{name}}-{number}"}, "spec": spec}
        for number in range(POOL)
    )


def places() -> list[Case]:
    """URLs at the edge that the canary has: an endpoint that shares one of them gets a part of its connections."""
    internal = f"tcp://{CANARY}.internal:7000"
    agents: dict[str, Json] = {
        "tls-host": {"url": f"tls://{CANARY_HOST.upper()}", "bindings": ["public"]},
        "https-host": {"url": f"https://{CANARY_HOST}.", "bindings": ["public"]},
        "internal": {"url": internal},
        "internal-spelling": {"url": f"tcp://{CANARY.upper()}.INTERNAL.:07000"},
        "service": {"url": f"tcp://web-{{name}}.{CANARY}:80", "bindings": ["kubernetes"]},
    }
    own = upstream("tcp://web:80")
    shared = {**policed(when("true"), internal), "poolingEnabled": True}
    return [
        *(
            instance(f"url-of-canary-{name}", NGROK, "AgentEndpoint", {**own, **spec}, forbidden=True)
            for name, spec in agents.items()
        ),
        instance("url-of-canary-shared", NGROK, "CloudEndpoint", shared, forbidden=True),
    ]


def leading(name: str, address: str, family: str = "IPv6") -> Case:
    """A Service of the tenant's own, whose endpoint is where no tenant may lead anybody."""
    slice_ = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "{name}", "labels": {"kubernetes.io/service-name": "{name}"}},
        "addressType": family,
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": "web", "port": 80, "protocol": "TCP"}],
    }
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "{name}"},
        "spec": {"ports": [{"name": "web", "port": 80}]},
    }
    spec = {
        "parentRefs": [{"name": "front", "sectionName": "http"}],
        "hostnames": ["{name}.hostile.example.com"],
        "rules": [{"backendRefs": [{"name": "{name}", "port": 80}]}],
    }
    route = {"apiVersion": GATEWAY, "kind": "HTTPRoute", "metadata": {"name": "{name}"}, "spec": spec}
    return Case(
        "EndpointSlice",
        ("endpoints",),
        Entry("instance", f"endpoint-{name}", None),
        Base(slice_, (service, route), "HTTPRoute"),
        forbidden=True,
        reason="AddressNotAllowed",
        must=True,
        label="(instance)",
    )


def forgeries(api: str) -> tuple[Json, ...]:
    """Forged entries: another writer of the status, three times."""
    times = [f"2030-01-01T00:00:0{number}Z" for number in range(3)]
    return tuple({"metadata": {"managedFields": [written("another-controller", api, time)]}} for time in times)


def patterned(pattern: str) -> Json:
    """16 rules of 8 matches, whose patterns are all different."""
    refs = [{"name": "web", "port": 80}]
    paths = [[f"{pattern}{rule}x{number}" for number in range(8)] for rule in range(16)]
    rules = [
        {"matches": [{"path": {"type": "RegularExpression", "value": path}} for path in each], "backendRefs": refs}
        for each in paths
    ]
    return {"parentRefs": [{"name": "{name}"}], "rules": rules}


def known(canary_gateway: str) -> list[Case]:
    """All of them; the address is that of the canary's Gateway."""
    greeting = "sample.seamark.dev/v1alpha1"
    static = {
        "gatewayClassName": "kgateway",
        "addresses": [{"type": "IPAddress", "value": canary_gateway}],
        "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
    }
    greedy = {
        "parentRefs": [{"name": "{name}"}],
        "rules": [{"backendRefs": [{"name": "web", "port": 80}]}],
    }
    route = {"apiVersion": GATEWAY, "kind": "HTTPRoute", "metadata": {"name": "{name}"}, "spec": greedy}
    front = {**static, "addresses": []}
    gateway = {"apiVersion": GATEWAY, "kind": "Gateway", "metadata": {"name": "{name}"}, "spec": front}
    broken = {
        "server_certificate": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----",
        "server_private_key": "x",
    }
    terminate = {"on_tcp_connect": [{"actions": [{"type": "terminate-tls", "config": broken}]}]}
    keys = {"keys": {"type": "secret", "params": {"name": WORDS}}}
    forward = {
        "on_tcp_connect": [
            {"actions": [{"type": "forward-internal", "config": {"url": f"tcp://{CANARY}.internal:7000"}}]}
        ]
    }
    return [
        instance("certificate-by-path", GATEWAY, "Gateway", secured(SECRET), forbidden=True),
        instance("certificate-by-namespace", GATEWAY, "Gateway", secured(f"{CANARY}/{CANARY_TLS}"), forbidden=True),
        instance("termination-by-path", NGROK, "AgentEndpoint", ended(SECRET), forbidden=True),
        instance(
            "score-secret-by-path",
            SCORE,
            "Workload",
            workload({"variables": {"A": "${resources.keys.word}"}}, resources=keys),
        ),
        instance("nested-1200", NGROK, "NgrokTrafficPolicy", {"policy": nested(1_200)}),
        instance("nested-2000", NGROK, "NgrokTrafficPolicy", {"policy": nested(2_000)}),
        instance("nested-objects", NGROK, "NgrokTrafficPolicy", {"policy": nested(1_200, '{"a":', "}")}),
        instance("nested-in-policy", NGROK, "CloudEndpoint", policed({"on_tcp_connect": nested(1_200)})),
        instance("nested-in-agent", NGROK, "AgentEndpoint", {**upstream("tcp://web:80"), "metadata": nested(1_500)}),
        instance(
            "nested-params",
            SCORE,
            "Workload",
            workload({}, resources={"a": {"type": "dns", "params": {"a": nested(1_200)}}}),
        ),
        instance("becomes-nested", NGROK, "CloudEndpoint", policed(when("true")), after=(DEEPER,)),
        instance("becomes-nested", NGROK, "AgentEndpoint", upstream("tcp://web:80"), after=(DEEPER,)),
        instance("nested-traffic", "gateway.kgateway.dev/v1alpha1", "TrafficPolicy", {"targetRefs": nested(1_200)}),
        instance("preference-5000", DNS, "DNSEndpoint", records("MX", f"{DIGITS * 5000} mail.example.net")),
        instance("preference-400", DNS, "DNSEndpoint", records("MX", f"{DIGITS * 400} mail.example.net")),
        instance("port-5000", DNS, "DNSEndpoint", records("SRV", f"1 2 {DIGITS * 5000} sip.example.net.")),
        instance("placeholders", SCORE, "Workload", workload({"variables": {"A": "${" * MANY}})),
        instance("placeholders-args", SCORE, "Workload", workload({"args": ["${" * MANY]})),
        instance("tokens", NGROK, "AgentEndpoint", upstream("tcp://" + "eyJ" * MANY)),
        instance("tokens-in-board", greeting, "Greeting", {"text": "a", "board": "eyJ" * MANY}),
        instance("long-text", DNS, "DNSEndpoint", records("TXT", "x" * 40_960)),
        instance("quoted-text", DNS, "DNSEndpoint", records("TXT", '"' * 40_000)),
        instance("forged-writer", greeting, "Greeting", {"text": "a"}, after=forgeries(greeting)),
        instance("forged-writer", DNS, "DNSEndpoint", records("A", "192.0.2.1"), after=forgeries(DNS)),
        instance("forged-writer", NGROK, "CloudEndpoint", policed(when("true")), after=forgeries(NGROK)),
        instance("forged-writer", SCORE, "Workload", workload({}), after=forgeries(SCORE)),
        instance("comment-loop", NGROK, "CloudEndpoint", policed(when(EXPRESSIONS["comment"]))),
        instance("two-loops", NGROK, "CloudEndpoint", policed(when(EXPRESSIONS["loops"]))),
        instance("many-expressions", NGROK, "CloudEndpoint", policed(when(*["conn.client_port > 0"] * 1_500))),
        instance("broken-certificate", NGROK, "CloudEndpoint", policed(terminate)),
        instance("pool-of-pools", NGROK, "CloudEndpoint", policed(when("true")), *pool()),
        instance("forward-to-canary", NGROK, "CloudEndpoint", policed(forward), forbidden=True),
        instance(
            "forward-to-canary",
            NGROK,
            "AgentEndpoint",
            {**upstream("tcp://web:80"), "trafficPolicy": {"inline": forward}},
            forbidden=True,
        ),
        instance("aliases", NGROK, "NgrokTrafficPolicy", {"policy": {"text": bomb()}}),
        instance("upstream-elsewhere", NGROK, "AgentEndpoint", upstream(f"http://web.{CANARY}:80"), forbidden=True),
        instance(
            "upstream-full-name",
            NGROK,
            "AgentEndpoint",
            upstream(f"tcp://web.{CANARY}.svc.cluster.local:80"),
            forbidden=True,
        ),
        instance("upstream-nat64", NGROK, "AgentEndpoint", upstream("tcp://[64:ff9b::a9fe:a9fe]:80"), forbidden=True),
        instance("upstream-6to4", NGROK, "AgentEndpoint", upstream("tcp://[2002:a9fe:a9fe::]:80"), forbidden=True),
        instance(
            "upstream-mapped", NGROK, "AgentEndpoint", upstream("tcp://[::ffff:169.254.169.254]:80"), forbidden=True
        ),
        *places(),
        leading("nat64", "64:ff9b::a9fe:a9fe"),
        leading("6to4", "2002:a9fe:a9fe::"),
        leading("metadata-6", "fd00:ec2::254"),
        leading("metadata", "100.100.100.200", "IPv4"),
        leading("metadata-of-azure", "168.63.129.16", "IPv4"),
        instance("address-of-canary", GATEWAY, "Gateway", static, route, forbidden=True),
        instance("patterns", GATEWAY, "HTTPRoute", patterned("/" + "[a-z]{1,999}" * 14), gateway),
        instance("patterns-nested", GATEWAY, "HTTPRoute", patterned("/" + "(" * 200 + "a{9}" + "){3}" * 200), gateway),
        instance("memory", SCORE, "Workload", workload({"resources": {"limits": {"memory": "1e30"}}})),
        instance("memory-digits", SCORE, "Workload", workload({"resources": {"limits": {"memory": DIGITS * 400}}})),
        instance(
            "https-internal", NGROK, "AgentEndpoint", {**upstream("tcp://web:80"), "url": "https://{name}.internal"}
        ),
        instance(
            "excluded-idn", DNS, "DNSEndpoint", records("A", "192.0.2.6", name=f"b\u00fccher.{ZONE}"), forbidden=True
        ),
        instance(
            "excluded-fullwidth",
            DNS,
            "DNSEndpoint",
            records("A", "192.0.2.6", name=f"XN--BCHER-KVA.{ZONE}"),
            forbidden=True,
        ),
        instance(
            "record-of-canary", DNS, "DNSEndpoint", records("A", "192.0.2.6", name=f"SHOP.{ZONE}."), forbidden=True
        ),
        instance(
            "challenge-of-canary",
            DNS,
            "DNSEndpoint",
            records("A", "192.0.2.6", name=f"_acme-challenge.shop.{ZONE}"),
            forbidden=True,
        ),
        instance(
            "wildcard-below-canary",
            DNS,
            "DNSEndpoint",
            records("A", "192.0.2.6", name=f"*.shop.{ZONE}"),
            forbidden=True,
        ),
        instance("number-400", NGROK, "NgrokTrafficPolicy", {"policy": {"on_tcp_connect": Raw(DIGITS * 400)}}),
        instance(
            "plan-nested",
            SCORE,
            "WorkloadPlan",
            {
                "workloadRef": {"name": "{name}", "namespace": HOSTILE, "uid": "x"},
                "observedWorkloadGeneration": 1,
                "runtimeClass": "kubernetes",
                "template": {"kind": "manifests", "ref": "", "values": nested(1_200)},
            },
        ),
    ]
