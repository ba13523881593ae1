"""Every command that a page shows does what the page says, as it stands there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.following import ON_AN_INSTALLATION, PAGES, follow, passed
from tests.docs.shell import difference
from tests.docs.worlds import World, after_external_dns, cluster, dev, with_an_edge, with_name_server, with_ports

# What can't be run here, by the page and the beginning of the command; and why.
NOT_HERE = {
    "README.md": {
        "make test": "it would run itself",
        "make run": "tests/cluster/test_dev.py starts what it starts; its set-up is that of the stage",
    },
    "docs/guides/cluster.md": {
        "seamark cluster kubelet": "tests/cluster/test_kubelet.py does, in a network of its own"
    },
    "docs/guides/loadbalancer.md": {
        "curl": "the agent would have to run in a Pod; tests/cluster/test_loadbalancer_whole.py has it there",
        "SEAMARK_LB_DRAIN": "the operator of before would have to be stopped",
    },
}
WORLDS: dict[str, World] = {
    "README.md": dev,
    "docs/guides/explain.md": dev,
    "docs/guides/bindings.md": with_ports,
    "docs/guides/dns.md": with_name_server,
    "docs/guides/edge.md": with_ports,
    "docs/guides/loadbalancer.md": with_ports,
    "docs/migration/external-dns.md": after_external_dns,
    "docs/migration/ngrok-operator.md": with_an_edge,
}


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ON_AN_INSTALLATION])
def test_every_command_of_a_page_does_what_the_page_says(page: str, tmp_path: Path) -> None:
    follow(page, tmp_path, WORLDS.get(page, cluster), NOT_HERE.get(page, {}))


@pytest.mark.parametrize("page", NOT_HERE)
def test_nothing_is_left_out_for_a_reason_that_has_passed(page: str) -> None:
    assert passed(page, NOT_HERE[page]) == []


def test_what_a_page_shows_is_compared_loosely() -> None:
    shown = (
        "NAME   READY   AGE",
        "www    True    5s",
        "tcp://127.0.0.1:20417",
        "id 6db1fb21-e1c0-5c8c-b6a1-c9599c6a74c1",
    )
    said = "NAME READY AGE\nwww  True  1m12s\ntcp://127.0.0.9:1\nid 00000000-0000-0000-0000-000000000000\n"
    assert not difference(shown, said)
    assert "www" in difference(shown, said.replace("True", "False"))
    assert "tcp" in difference(shown, said.replace("tcp", "udp"))
    assert not difference(("key …", "… end"), "key abc\nthe end")
