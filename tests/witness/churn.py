"""Objects that come, change and go all the time, beside those that faults befall. Their names start with x."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.witness import manifests
from tests.witness.api import Api, Json, Key, Refused, key_of
from tests.witness.windows import Window, Windows

MOST = 6


class Churn(threading.Thread):
    def __init__(self, api: Api, windows: Windows, seed: int) -> None:
        super().__init__(name="churn", daemon=True)
        self.over = threading.Event()
        self._api = api
        self._windows = windows
        self._random = random.Random(seed)
        self._made: list[Key] = []
        self._count = 0

    def run(self) -> None:
        while not self.over.wait(self._random.uniform(2, 6)):
            try:
                self._something()
            except (OSError, Refused):
                continue  # an outage: later

    def _something(self) -> None:
        if len(self._made) < MOST and self._random.random() < 0.6:
            self._count += 1
            self._apply(self._object(f"x{self._count}", self._random.randrange(1, 250)))
        elif self._made and self._random.random() < 0.5:
            key = self._made.pop(self._random.randrange(len(self._made)))
            with self._touching(key):
                self._api.delete(key)
        elif self._made:
            kind, _, name = self._random.choice(self._made)
            if kind == "DNSEndpoint":
                self._apply(self._record(name, self._random.randrange(1, 250)))

    def _object(self, name: str, number: int) -> Json:
        match self._random.randrange(3):
            case 0:
                return self._record(name, number)
            case 1:
                api = "gateway.networking.k8s.io/v1"
                spec = {"parentRefs": [{"name": "plain"}], "hostnames": [f"{name}.example.com"]}
                rules = [{"backendRefs": [{"name": "o1", "port": 80}]}]
                return manifests.of(api, "HTTPRoute", "gw", name, **spec, rules=rules)
            case _:
                ports = [{"name": "web", "port": 80, "targetPort": 3000, "protocol": "TCP"}]
                spec = {"type": "LoadBalancer", "loadBalancerClass": "ngrok", "selector": {"app": "echo-t2"}}
                return manifests.of("v1", "Service", "lb-a", name, **spec, ports=ports)

    @staticmethod
    def _record(name: str, number: int) -> Json:
        return manifests.record(name, number)

    def _apply(self, document: Json) -> None:
        key = key_of(document)
        with self._touching(key):
            self._api.apply(document)
        if key not in self._made:
            self._made.append(key)

    @contextmanager
    def _touching(self, key: Key) -> Iterator[None]:
        """As long as the request takes: the API server may have an outage."""

        def touches(other: Key) -> bool:
            return other == key or (other[1] == key[1] and other[2].startswith(f"{key[2]}-"))

        window = self._windows.open(Window(f"churn of {key[2]}", time.monotonic(), touches))
        try:
            yield
        finally:
            window.end = time.monotonic()
