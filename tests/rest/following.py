"""All objects of a cluster, followed by watches: every resource that can be listed and watched."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.rest.counting import EXCLUDED, Json
from tests.witness.api import Api

SAME = frozenset({"events.k8s.io"})  # groups that show the objects of another one


class Follower:
    """`seen(object, deleted)` is called for one object at a time. The threads end with the process."""

    def __init__(self, kubeconfig: Path, seen: Callable[[Json, bool], None]) -> None:
        self._api = Api(kubeconfig)
        self._seen = seen
        self._lock = threading.Lock()

    def start(self) -> list[str]:
        """The kinds that are followed."""
        found = sorted(self._watchable())
        for kind, path in found:
            self._api.watch_path(kind, path, self._one_at_a_time)
        return [kind for kind, _ in found]

    def _one_at_a_time(self, obj: Json, deleted: bool) -> None:
        with self._lock:
            self._seen(obj, deleted)

    def _watchable(self) -> Iterator[tuple[str, str]]:
        for base in ("/api/v1", *self._groups()):
            for resource in self._api.ask("GET", base)["resources"]:
                if {"list", "watch"} <= set(resource["verbs"]) and resource["kind"] not in EXCLUDED:
                    yield resource["kind"], f"{base}/{resource['name']}"

    def _groups(self) -> Iterator[str]:
        for group in self._api.ask("GET", "/apis")["groups"]:
            if group["name"] not in SAME:
                yield f"/apis/{group['preferredVersion']['groupVersion']}"
