"""The objects of all families, as users write them. Each has its own backend, so that faults are disjoint."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.witness.api import Json

NAMESPACES = ("gw", "gw-far", "lb-a", "lb-b", "bound", "names", "score", "witness")
ECHO = "seamark.dev/echo:v1"
HOME = "seamark-system"
SECRET = "d2l0bmVzcyBzZWNyZXQgb2YgMzIgYnl0ZXMhISEhISE="  # the name server's key, in base64
ROUTES = {"plain": ("r1", "r2", "r3"), "other": ("o1", "o2"), "secure": ("s1",)}  # by Gateway
BALANCERS = {"lb-a": ("t1", "t2", "s1"), "lb-b": ("t1", "s1")}
ENDPOINTS = {"lb-a": ("e1", "e3"), "lb-b": ("e1", "e2")}
HEADER = ("x-witness", "yes")  # what the TrafficPolicy sets in responses
SET, SET_PORT = "extra", 81  # the ListenerSet of the Gateway "other"
BOUND = ("b1", "b2", "b3")
RECORDS = ("d1", "d2", "d3", "d4", "d5")
WORKLOADS = ("w1", "w2", "w3")


def of(api_version: str, kind: str, namespace: str, name: str, **spec: object) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def deployment(namespace: str, name: str, container: Json, labels: Json | None = None, replicas: int = 1) -> Json:
    """The variable WITNESS marks the processes of its Pods."""
    marked = {"name": "main", **container}
    marked["env"] = [{"name": "WITNESS", "value": f"{namespace}/{name}"}, *container.get("env", ())]
    template = {
        "metadata": {"labels": {"app": name, **(labels or {})}},
        "spec": {"containers": [marked], "terminationGracePeriodSeconds": 2},
    }
    selector = {"matchLabels": {"app": name}}
    return of("apps/v1", "Deployment", namespace, name, replicas=replicas, selector=selector, template=template)


def backend(namespace: str, name: str) -> Iterator[Json]:
    """An echo server behind a Service."""
    probe = {"httpGet": {"path": "/healthz", "port": 3000}, "periodSeconds": 1, "failureThreshold": 2}
    yield deployment(namespace, name, {"image": ECHO, "readinessProbe": probe})
    ports = [{"name": "web", "port": 80, "targetPort": 3000, "protocol": "TCP"}]
    yield of("v1", "Service", namespace, name, selector={"app": name}, ports=ports)


def gateways() -> Iterator[Json]:
    api = "gateway.networking.k8s.io/v1"
    yield of(api, "GatewayClass", "", "kgateway", controllerName="kgateway.dev/kgateway")
    certificate = {"mode": "Terminate", "certificateRefs": [{"name": "certificate"}]}
    listeners: dict[str, Json] = {
        "plain": {"name": "http", "port": 80, "protocol": "HTTP"},
        "other": {"name": "http", "port": 80, "protocol": "HTTP"},
        "secure": {"name": "https", "port": 443, "protocol": "HTTPS", "tls": certificate},
    }
    for gateway, listener in listeners.items():
        allowed = {"allowedListeners": {"namespaces": {"from": "Same"}}} if gateway == "other" else {}
        yield of(api, "Gateway", "gw", gateway, gatewayClassName="kgateway", listeners=[listener], **allowed)
        for name in ROUTES[gateway]:
            far = name == "r3"
            yield from backend("gw-far" if far else "gw", name)
            reference = {"name": name, "port": 80, **({"namespace": "gw-far"} if far else {})}
            spec = {"parentRefs": [{"name": gateway}], "hostnames": [f"{name}.example.com"]}
            yield of(api, "HTTPRoute", "gw", name, **spec, rules=[{"backendRefs": [reference]}])
    yield grant()
    more = {"name": "more", "port": SET_PORT, "protocol": "HTTP"}
    yield of(api, "ListenerSet", "gw", SET, parentRef={"name": "other"}, listeners=[more])
    yield header_policy()


def header_policy() -> Json:
    name, value = HEADER
    target = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": "o1"}
    change = {"response": {"set": [{"name": name, "value": value}]}}
    return of(
        "gateway.kgateway.dev/v1alpha1", "TrafficPolicy", "gw", "header", targetRefs=[target], headerModifiers=change
    )


def grant() -> Json:
    here = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": "gw"}
    to = [{"group": "", "kind": "Service"}]
    api = "gateway.networking.k8s.io/v1beta1"
    return {**of(api, "ReferenceGrant", "gw-far", "routes"), "spec": {"from": [here], "to": to}}


def balancers() -> Iterator[Json]:
    for namespace, names in BALANCERS.items():
        for name in names:
            yield from backend(namespace, f"echo-{name}")
            ports = [{"name": "web", "port": 80, "targetPort": 3000, "protocol": "TCP"}]
            spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "selector": {"app": f"echo-{name}"}}
            service = of("v1", "Service", namespace, name, **spec, ports=ports)
            if name.startswith("s"):
                url = f"tls://{name}-{namespace}.edge.witness.test"
                service["metadata"]["annotations"] = {"k8s.ngrok.com/url": url}
                if namespace == "lb-b":  # a CloudEndpoint before the AgentEndpoint
                    service["metadata"]["annotations"]["k8s.ngrok.com/mapping-strategy"] = "endpoints-verbose"
            yield service
        for name in ENDPOINTS[namespace]:
            yield from backend(namespace, f"echo-{name}")
            yield endpoint(namespace, name)


def endpoint(namespace: str, name: str) -> Json:
    api = "ngrok.k8s.ngrok.com/v1alpha1"
    host, upstream = f"{name}-{namespace}.edge.witness.test", f"echo-{name}.{namespace}:80"
    spec: Json = {"url": f"https://{host}", "upstream": {"url": f"http://{upstream}"}}
    if name == "e2":  # TLS ends at the agent, with a certificate from a Secret
        spec = {"url": f"tls://{host}", "upstream": {"url": f"tcp://{upstream}"}}
        spec["tlsTermination"] = {"serverCertificateRef": {"name": "certificate"}}
    if name == "e3":  # no client is admitted
        refusal = {"type": "restrict-ips", "config": {"enforce": True, "deny": ["0.0.0.0/0"]}}
        spec["trafficPolicy"] = {"inline": {"on_tcp_connect": [{"actions": [refusal]}]}}
    return of(api, "AgentEndpoint", namespace, name, **spec)


def bindings() -> Iterator[Json]:
    api = "ngrok.k8s.ngrok.com/v1alpha1"
    binding = {"endpointSelectors": ["true"]}
    yield of(api, "KubernetesOperator", HOME, "seamark", binding=binding, drain={"policy": "Delete"})
    for name in BOUND:
        yield from backend("bound", f"echo-{name}")
        upstream = {"url": f"tcp://echo-{name}.bound:80"}
        yield of(
            api,
            "AgentEndpoint",
            "bound",
            name,
            url=f"tcp://{name}.bound:7000",
            bindings=["kubernetes"],
            upstream=upstream,
        )


def records() -> Iterator[Json]:
    for number, name in enumerate(RECORDS):
        yield record(name, number + 1)


def record(name: str, number: int) -> Json:
    entries = [{"dnsName": f"{name}.witness.test", "recordType": "A", "targets": [f"192.0.2.{number}"]}]
    if name == "d4":
        entries.append({"dnsName": "alias.witness.test", "recordType": "CNAME", "targets": [f"{name}.witness.test"]})
    if name == "d5":
        entries = [{"dnsName": "below.sub.witness.test", "recordType": "A", "targets": [f"192.0.2.{number}"]}]
    return of("externaldns.k8s.io/v1alpha1", "DNSEndpoint", "names", name, endpoints=entries)


def workloads() -> Iterator[Json]:
    for name in WORKLOADS:
        yield workload(name)


def workload(name: str, target: int = 3000) -> Json:
    probe = {"httpGet": {"path": "/healthz", "port": 3000}}
    main = {"image": ECHO, "variables": {"WITNESS": f"score/{name}"}, "readinessProbe": probe}
    service = {"ports": [{"name": "web", "port": 8080, "targetPort": target}]}
    return of("score.dev/v1b1", "Workload", "score", name, containers={"main": main}, service=service)


def agent(namespace: str, program: str, server: str, folder: Path, kubeconfig: Path) -> Json:
    edge = folder / "edge"
    arguments = ["agent", "--server", server, "--ca", str(edge / "ca.pem"), "--token-file", str(edge / "agent-token")]
    arguments += ["--cluster", "--kubeconfig", str(kubeconfig), "--namespace", namespace]
    return deployment(namespace, "agent", {"image": ECHO, "command": [program, *arguments]})


def forwarder(program: str, kubeconfig: Path) -> Json:
    variables = {"SEAMARK_HEALTH_ADDRESS": "", "SEAMARK_FORWARDER_SECRET_READS": "1"}
    container = {
        "image": ECHO,
        "command": [program, "forwarder", f"--kubeconfig={kubeconfig}"],
        "env": [{"name": name, "value": value} for name, value in variables.items()],
    }
    return deployment(HOME, "forwarder", container, {"app.kubernetes.io/component": "bindings-forwarder"})


def client() -> Json:
    """A Pod in whose network clients run."""
    return deployment("witness", "client", {"image": ECHO})


def zone() -> str:
    return """$TTL 60
@ IN SOA ns.witness.test. admin.witness.test. 1 3600 600 86400 5
@ IN NS ns.witness.test.
ns IN A 198.51.100.53
"""


def named(folder: Path) -> str:
    return f"""
key "witness" {{ algorithm hmac-sha256; secret "{SECRET}"; }};
options {{
  directory "{folder}"; pid-file none; session-keyfile none; managed-keys-directory "{folder}";
  listen-on port 53 {{ any; }}; listen-on-v6 {{ none; }};
  recursion no; dnssec-validation no; notify no;
}};
controls {{ }};
zone "witness.test" {{
  type primary; file "{folder}/zone";
  update-policy {{ grant "witness" zonesub ANY; }};
  allow-transfer {{ key "witness"; }};
}};
"""
