"""Values that the chart is tried with: as it is, with everything on, and each family alone."""

from __future__ import annotations

from typing import Any

FAMILIES = ("dns", "gateway", "score", "loadbalancer", "bindings")
NEEDS_EDGE = ("loadbalancer", "bindings")


def only(*families: str) -> dict[str, Any]:
    """These families and no others, with an edge where one of them needs one."""
    chosen: dict[str, Any] = {name: {"enabled": name in families} for name in FAMILIES}
    if "dns" in families:
        chosen["dns"]["settings"] = {"dns_provider": "memory"}
    edge = any(name in NEEDS_EDGE for name in families)
    return {"families": chosen, "edge": {"enabled": edge}}


def everything() -> dict[str, Any]:
    sources = ["crd", "service", "ingress", "gateway", "httproute", "grpcroute", "tlsroute", "tcproute"]
    values = only(*FAMILIES)
    settings = {"dns_provider": "memory", "dns_zones": ["example.com"], "dns_poll": 5.5}
    values["families"]["dns"] |= {"sources": sources, "settings": settings}
    values["families"]["gateway"] |= {"workload": "DaemonSet", "loadBalancerClass": "example.com/lb"}
    values["families"]["score"] |= {"config": {"spec": {"defaults": {"profile": "kube"}}}}
    values["controlPlane"] = {
        "perFamily": True,
        "settings": {"workers": 1000, "watch_lifetime": 1000000},
        "extraEnv": [{"name": "GREETING", "value": "ahoy"}],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-cluster-critical",
        "podAnnotations": {"example.com/a": "b"},
        "podLabels": {"team": "platform"},
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
        ],
    }
    values["edge"] |= {"publicHost": "edge.example.com", "persistence": {"storageClass": "fast"}}
    values["edge"]["database"] = {"url": "postgresql://edge@db.example.com:5432/edge", "secret": "edge-database"}
    values["console"] = {"enabled": True, "replicas": 2}
    values["image"] = {"digest": "sha256:" + "0" * 64, "pullSecrets": [{"name": "registry"}]}
    values["networkPolicy"] = {"metrics": {"from": [{"namespaceSelector": {"matchLabels": {"team": "watchers"}}}]}}
    values["fence"] = {"enabled": True}
    values["serviceMonitor"] = {"enabled": True, "labels": {"release": "prometheus"}}
    values["prometheusRule"] = {"enabled": True}
    return values


CASES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "everything": everything(),
    **{f"only {family}": only(family) for family in FAMILIES},
}
