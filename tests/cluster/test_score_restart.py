"""The Score family stops and starts again: no status is withdrawn, and nothing is written."""

from __future__ import annotations

from seamark.families.score.family import CRDS, without_runtime
from seamark_cluster.real.plane import ControlPlane
from tests.cluster.requests import install
from tests.cluster.score_operator import Cluster, running

URL = "https://app.example.com"


def test_a_restart_un_says_nothing_and_writes_nothing(control_plane: ControlPlane, namespace: str) -> None:
    cluster = Cluster(control_plane, namespace)
    for crd in CRDS:
        install(control_plane, crd)
    with running(control_plane, without_runtime()):
        cluster.apply()
        cluster.until_exposed()
        cluster.publish({"exposures": [{"url": URL}]})
        cluster.until_condition("Ready", "True")
    before = cluster.get("workloads")["metadata"]["resourceVersion"]
    with running(control_plane, without_runtime()) as again:
        cluster.until(lambda: again.operator.quiet, "the operator is at rest")
        assert cluster.get("workloads")["metadata"]["resourceVersion"] == before
