"""Without mounts of their own, programs get the real directory in place of each mount path."""

from __future__ import annotations

from pathlib import Path

import pytest

from seamark_cluster.kubelet.host import rewritten
from seamark_cluster.kubelet.runtime import Mount

MOUNTS = [Mount(Path("/p/v/conf"), "/etc/conf"), Mount(Path("/p/v/deep"), "/etc/conf/deep")]


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        ("/etc/conf", "/p/v/conf"),
        ("/etc/conf/a.yaml", "/p/v/conf/a.yaml"),
        ("--config=/etc/conf/a.yaml", "--config=/p/v/conf/a.yaml"),
        ("cat /etc/conf/a '/etc/conf'", "cat /p/v/conf/a '/p/v/conf'"),
        ("/etc/conf/deep/x", "/p/v/deep/x"),
        ("/etc/conf2/a", "/etc/conf2/a"),
        ("/usr/etc/conf", "/usr/etc/conf"),
        ("/a:/etc/conf:/b", "/a:/p/v/conf:/b"),
    ],
)
def test_a_mounted_path_is_rewritten_where_it_is_one(argument: str, expected: str) -> None:
    assert rewritten(argument, MOUNTS) == expected


def test_what_the_program_is_made_of_stays() -> None:
    own = ["/etc/conf/.venv"]
    assert rewritten("/etc/conf/.venv/bin/python", MOUNTS, own) == "/etc/conf/.venv/bin/python"
    assert rewritten("/etc/conf/.venvs", MOUNTS, own) == "/p/v/conf/.venvs"
