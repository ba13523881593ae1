"""python -m tests.witness.liar KUBECONFIG: keeps a status that is false.

A Gateway of a class that nobody serves gets an address where nobody listens, and Programmed=True. The witness must find
it: that shows that the witness can fail.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from tests.witness.api import Api, Json, Key, Refused

KEY: Key = ("Gateway", "gw", "liar")
ADDRESS = "172.30.0.250"


def gateway() -> Json:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": KEY[2], "namespace": KEY[1]},
        "spec": {
            "gatewayClassName": "nobody",
            "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}],
        },
    }


def status() -> Json:
    condition = {
        "type": "Programmed",
        "status": "True",
        "reason": "Programmed",
        "message": "Gateway is programmed",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": 1,
    }
    return {"addresses": [{"type": "IPAddress", "value": ADDRESS}], "conditions": [condition]}


def main(kubeconfig: Path) -> None:
    api = Api(kubeconfig)
    while True:
        try:
            api.apply(gateway())
            api.merge(KEY, {"status": status()}, "status")
        except (OSError, Refused) as error:
            print(error, file=sys.stderr)  # noqa: T201
        time.sleep(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
