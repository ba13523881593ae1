"""seamark gateway crds --install, on a real API server."""

from __future__ import annotations

import subprocess
import sys

from seamark_cluster.real.plane import ControlPlane
from tests.cluster.requests import request

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gateways.gateway.networking.k8s.io"
VERSION = "gateway.networking.k8s.io/bundle-version"
COMMAND = "from seamark.cli.main import main; main()"


def install(plane: ControlPlane) -> str:
    command = [sys.executable, "-c", COMMAND, "gateway", "crds", "--install", f"--kubeconfig={plane.kubeconfig}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_what_is_installed_and_newer_stays(own_plane: ControlPlane) -> None:
    assert "gateways.gateway.networking.k8s.io: installed" in install(own_plane)
    newer = {"metadata": {"annotations": {VERSION: "v9.0.0"}}}
    assert request(own_plane, "PATCH", PATH, newer, content_type="application/merge-patch+json").code == 200
    told = install(own_plane)
    assert "gateways.gateway.networking.k8s.io: the installed one is newer and stays" in told
    assert "httproutes.gateway.networking.k8s.io: installed" in told
    assert request(own_plane, "GET", PATH).body["metadata"]["annotations"][VERSION] == "v9.0.0"
