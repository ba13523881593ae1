"""The API server, as curl would ask it: JSON over HTTPS, and watches."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml

Json = dict[str, Any]
Key = tuple[str, str, str]  # kind, namespace, name

PATHS = {
    "Service": ("/api/v1", "services"),
    "Secret": ("/api/v1", "secrets"),
    "Pod": ("/api/v1", "pods"),
    "Lease": ("/apis/coordination.k8s.io/v1", "leases"),
    "Deployment": ("/apis/apps/v1", "deployments"),
    "Gateway": ("/apis/gateway.networking.k8s.io/v1", "gateways"),
    "ListenerSet": ("/apis/gateway.networking.k8s.io/v1", "listenersets"),
    "TrafficPolicy": ("/apis/gateway.kgateway.dev/v1alpha1", "trafficpolicies"),
    "HTTPRoute": ("/apis/gateway.networking.k8s.io/v1", "httproutes"),
    "ReferenceGrant": ("/apis/gateway.networking.k8s.io/v1beta1", "referencegrants"),
    "AgentEndpoint": ("/apis/ngrok.k8s.ngrok.com/v1alpha1", "agentendpoints"),
    "CloudEndpoint": ("/apis/ngrok.k8s.ngrok.com/v1alpha1", "cloudendpoints"),
    "Domain": ("/apis/ingress.k8s.ngrok.com/v1alpha1", "domains"),
    "KubernetesOperator": ("/apis/ngrok.k8s.ngrok.com/v1alpha1", "kubernetesoperators"),
    "BoundEndpoint": ("/apis/bindings.k8s.ngrok.com/v1alpha1", "boundendpoints"),
    "DNSEndpoint": ("/apis/externaldns.k8s.io/v1alpha1", "dnsendpoints"),
    "Workload": ("/apis/score.dev/v1b1", "workloads"),
    "WorkloadExposure": ("/apis/score.dev/v1b1", "workloadexposures"),
}
MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"


class Refused(Exception):
    """The API server answered with an error."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code}: {text[:300]}")
        self.code = code


class Api:
    """Requests of one user. Every error is a Refused or an OSError."""

    def __init__(self, kubeconfig: Path) -> None:
        document = yaml.safe_load(kubeconfig.read_text())
        cluster = document["clusters"][0]["cluster"]
        current = next(one for one in document["contexts"] if one["name"] == document["current-context"])
        user = next(one for one in document["users"] if one["name"] == current["context"]["user"])
        target = urlsplit(cluster["server"])
        self.host, self.port = target.hostname or "", target.port or 443
        self._token = user["user"]["token"]
        self._trust = ssl.create_default_context(cafile=cluster.get("certificate-authority"))
        if data := cluster.get("certificate-authority-data"):
            self._trust.load_verify_locations(cadata=ssl.DER_cert_to_PEM_cert(_der(data)))

    def path(self, key: Key, subresource: str = "") -> str:
        kind, namespace, name = key
        base, plural = PATHS[kind]
        parts = [base, *(("namespaces", namespace) if namespace else ()), plural, name, subresource]
        return "/".join(part for part in parts if part)

    def ask(self, method: str, path: str, body: object = None, form: str = "application/json") -> Json:
        connection = self._connect(15)
        try:
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": form}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            text = response.read().decode()
        except http.client.HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()
        if response.status >= 400:
            raise Refused(response.status, text)
        answer: Json = json.loads(text)
        return answer

    def get(self, key: Key) -> Json | None:
        try:
            return self.ask("GET", self.path(key))
        except Refused as refused:
            if refused.code == 404:
                return None
            raise

    def merge(self, key: Key, body: Json, subresource: str = "") -> Json:
        return self.ask("PATCH", self.path(key, subresource), body, MERGE)

    def apply(self, document: Json) -> Json:
        meta = document["metadata"]
        path = self.path((document["kind"], meta.get("namespace", ""), meta["name"]))
        return self.ask("PATCH", f"{path}?fieldManager=witness&force=true", document, APPLY)

    def delete(self, key: Key) -> None:
        try:
            self.ask("DELETE", self.path(key))
        except Refused as refused:
            if refused.code != 404:
                raise

    def _connect(self, seconds: float) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self.host, self.port, timeout=seconds, context=self._trust)

    def watch(self, kind: str, seen: Callable[[Json, bool], None]) -> None:
        """Follow all objects of a kind in a thread of its own: `seen(object, deleted)`."""
        self.watch_path(kind, self.path((kind, "", "")), seen)

    def watch_path(self, kind: str, path: str, seen: Callable[[Json, bool], None]) -> None:
        """The same for objects of any kind, by the path of their list."""
        threading.Thread(target=self._follow, args=(kind, path, seen), name=f"watch {kind}", daemon=True).start()

    def _follow(self, kind: str, path: str, seen: Callable[[Json, bool], None]) -> None:
        known: dict[Key, Json] = {}
        while True:
            try:
                listed = self.ask("GET", path)
                fresh = {key_of({**one, "kind": kind}): {**one, "kind": kind} for one in listed["items"]}
                for key in known.keys() - fresh.keys():
                    seen(known[key], True)
                for one in fresh.values():
                    seen(one, False)
                known = fresh
                for event in self._events(path, listed["metadata"]["resourceVersion"]):
                    if event["type"] in {"ADDED", "MODIFIED", "DELETED"}:
                        one, gone = event["object"], event["type"] == "DELETED"
                        seen(one, gone)
                        known.pop(key_of(one), None) if gone else known.update({key_of(one): one})
                    elif event["type"] == "ERROR":
                        break
            except (OSError, Refused, ValueError, http.client.HTTPException):
                time.sleep(0.3)

    def _events(self, path: str, version: str) -> Iterator[Json]:
        options = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": "600"}
        connection = self._connect(75)  # bookmarks come once a minute
        try:
            connection.request(
                "GET", f"{path}?{urlencode(options)}", headers={"Authorization": f"Bearer {self._token}"}
            )
            response = connection.getresponse()
            while line := response.readline():
                yield json.loads(line)
        finally:
            connection.close()


def key_of(obj: Json) -> Key:
    return (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"])


def _der(data: str) -> bytes:
    return ssl.PEM_cert_to_DER_cert(base64.b64decode(data).decode())
