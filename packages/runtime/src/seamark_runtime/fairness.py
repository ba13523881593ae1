"""The order in which ready requests are handed out.

- Controllers take turns, and within a controller namespaces take turns: ten thousand requests of one namespace delay
  a request of another by one turn.
- A blocked namespace gets no turn; its requests keep their order until it is unblocked.
- Every operation costs the same however many requests there are (`block` and `unblock`: per controller).
"""

from __future__ import annotations

from collections import OrderedDict, deque

from seamark_runtime.request import Request


class FairOrder:
    def __init__(self) -> None:
        # Controller → namespace → requests. The first entry has the next turn; no mapping and no deque is empty.
        self._rings: OrderedDict[str, OrderedDict[str, deque[Request]]] = OrderedDict()
        # Blocked namespace → controller → requests. A namespace is in here or in the rings, never in both.
        self._blocked: dict[str, dict[str, deque[Request]]] = {}
        self._count = 0  # requests in the rings

    def __len__(self) -> int:
        """How many requests may be handed out now."""
        return self._count

    def push(self, request: Request) -> None:
        namespace = request.key.namespace
        if (blocked := self._blocked.get(namespace)) is not None:
            blocked.setdefault(request.controller, deque()).append(request)
            return
        self._rings.setdefault(request.controller, OrderedDict()).setdefault(namespace, deque()).append(request)
        self._count += 1

    def pop(self) -> Request:
        controller, namespaces = next(iter(self._rings.items()))
        namespace, requests = next(iter(namespaces.items()))
        request = requests.popleft()
        self._count -= 1
        if requests:
            namespaces.move_to_end(namespace)
        else:
            del namespaces[namespace]
        if namespaces:
            self._rings.move_to_end(controller)
        else:
            del self._rings[controller]
        return request

    def block(self, namespace: str) -> None:
        blocked = self._blocked[namespace] = {}
        for controller, namespaces in list(self._rings.items()):
            if (requests := namespaces.pop(namespace, None)) is not None:
                blocked[controller] = requests
                self._count -= len(requests)
            if not namespaces:
                del self._rings[controller]

    def unblock(self, namespace: str) -> None:
        for controller, requests in self._blocked.pop(namespace, {}).items():
            self._rings.setdefault(controller, OrderedDict())[namespace] = requests
            self._count += len(requests)
