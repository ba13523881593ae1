"""The plain manifests are what the chart makes, and the API server takes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.install.helm import Site
from tools.manifests import FOLDER, NAMESPACE, files


@pytest.mark.parametrize("name", ["install.yaml", "uninstall.yaml"])
def test_a_manifest_is_up_to_date(helm: Path, name: str) -> None:
    assert (FOLDER / name).read_text() == files()[name], "write it anew with `make manifests`"


def test_what_takes_everything_away_is_in_a_file_of_its_own() -> None:
    assert "name: seamark-uninstall" not in (FOLDER / "install.yaml").read_text()
    assert "- uninstall\n" in (FOLDER / "uninstall.yaml").read_text()


def test_the_api_server_takes_them(site: Site) -> None:
    kubectl = site.machine.plane.kubectl
    if NAMESPACE not in [one["metadata"]["name"] for one in site.objects("namespaces")]:
        kubectl("create", "namespace", NAMESPACE)
    for name in ("install.yaml", "uninstall.yaml"):
        kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", str(FOLDER / name))
