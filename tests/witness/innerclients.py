"""Clients of bindings, names and workloads: from a Pod, and of the name server."""

from __future__ import annotations

from tests.witness.api import Json
from tests.witness.claim import Lab
from tests.witness.clients import Answer
from tests.witness.sandbox import NAME_SERVER


def bound_reached(lab: Lab, bound: Json) -> Answer | None:
    """A Pod connects to the target Service by its name."""
    target = bound["spec"]["target"]
    url = f"http://{target['service']}.{target['namespace']}.svc.cluster.local:{target['port']}/"
    return lab.clients.curl(url, pod=True)


def upstream_reached(lab: Lab, bound: Json) -> Answer | None:
    """A Pod connects to the upstream Service, which leads to a forwarder."""
    metadata, port = bound["metadata"], bound["spec"]["target"]["port"]
    url = f"http://{metadata['name']}.{metadata['namespace']}.svc.cluster.local:{port}/"
    return lab.clients.curl(url, pod=True)


def name_served(lab: Lab, endpoint: Json) -> Answer | None:
    """The name server answers every record with exactly its targets."""
    answer = None
    for entry in endpoint["spec"].get("endpoints") or ():
        answer = lab.clients.dig(NAME_SERVER, entry["dnsName"], entry["recordType"], entry["targets"])
        if not answer.good:
            return answer
    return answer


def pods_answer(lab: Lab, exposure: Json) -> Answer | None:
    """Every ready Pod of the workload answers an HTTP request at the port that its Service leads to."""
    namespace, name = exposure["metadata"]["namespace"], exposure["metadata"]["name"]
    workload = lab.objects.get(("Workload", namespace, name))
    if workload is None:
        return None
    port, answer = workload["spec"]["service"]["ports"][0]["targetPort"], None
    for host in lab.pods(namespace, name):
        answer = lab.clients.curl(f"http://{host}:{port}/", pod=True, good=("",))
        if not answer.good:
            return answer
    return answer


def workload_reached(lab: Lab, workload: Json) -> Answer | None:
    """A Pod gets a response from the endpoint in the status."""
    url = (workload.get("status") or {}).get("endpoint")
    return lab.clients.curl(str(url), pod=True) if url else None
