"""The pages about an installation, followed on one: every command does what its page says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.test_kubelet_claims import claim, volume
from tests.docs.following import ON_AN_INSTALLATION, follow, passed
from tests.docs.worlds import Words, World
from tests.install.helm import NAMESPACE, Site
from tests.install.test_life import WHOLE

# What can't be run here, by the page and the beginning of the command; and why.
NOT_HERE: dict[str, dict[str, str]] = {
    "docs/guides/install.md": {"docker": "there is no container engine here"},
    "docs/operations.md": {
        "kubectl -n seamark-system port-forward": "the process kubelet forwards no ports",
        "curl": "it goes through that port",
    },
}


def environment(site: Site) -> dict[str, str]:
    plane = site.machine.plane
    return {"KUBECONFIG": str(plane.kubeconfig), "PATH": f"{site.helm.parent}:/usr/bin:/bin"}


def on_nothing(site: Site) -> World:
    @contextmanager
    def world(_directory: Path) -> Iterator[tuple[dict[str, str], Words]]:
        yield environment(site), {}

    return world


def on_everything(site: Site) -> World:
    @contextmanager
    def world(directory: Path) -> Iterator[tuple[dict[str, str], Words]]:
        if NAMESPACE not in [one["metadata"]["name"] for one in site.objects("namespaces")]:
            site.machine.namespace(NAMESPACE)
        site.machine.apply(
            volume("edge", directory / ".volume"), claim("state-seamark-edge-0", "edge"), namespace=NAMESPACE
        )
        site.install("seamark", {**WHOLE, "edge": {**WHOLE["edge"], "persistence": {"enabled": True}}})
        try:
            yield environment(site), {}
        finally:
            site.uninstall("seamark", "--ignore-not-found")
            site.machine.plane.kubectl("delete", "persistentvolume", "edge")

    return world


WORLDS = {"docs/guides/install.md": on_nothing, "docs/operations.md": on_everything}


@pytest.mark.parametrize("page", ON_AN_INSTALLATION)
def test_every_command_of_a_page_does_what_the_page_says(site: Site, page: str, tmp_path: Path) -> None:
    follow(page, tmp_path, WORLDS[page](site), NOT_HERE[page])


@pytest.mark.parametrize("page", NOT_HERE)
def test_nothing_is_left_out_for_a_reason_that_has_passed(page: str) -> None:
    assert passed(page, NOT_HERE[page]) == []
