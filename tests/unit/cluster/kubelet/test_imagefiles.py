"""What an image brings beside its program: found by its names in the image, and never in place of a Pod's own files."""

from __future__ import annotations

import subprocess
from pathlib import Path

from seamark_cluster.kubelet.imagefiles import ImageFiles
from seamark_cluster.kubelet.images import Image


def test_a_shell_finds_a_program_of_the_image_by_its_name(tmp_path: Path) -> None:
    files = ImageFiles(tmp_path, Image(programs={"greet": ("echo", "good day")}))
    files.write()
    shell = ["/bin/sh", "-c", "greet all"]
    done = subprocess.run(shell, env={"PATH": files.path("/usr/bin:/bin")}, stdout=subprocess.PIPE, check=True)
    assert done.stdout == b"good day all\n"


def test_a_command_may_be_a_path_of_the_image() -> None:
    files = ImageFiles(Path("/nowhere"), Image(programs={"/http-echo": ("echo", "it")}))
    assert files.resolved(["/http-echo", "-v"]) == ["echo", "it", "-v"]
    assert files.resolved(["/bin/sh"]) == ["/bin/sh"]
    assert files.resolved([]) == []


def test_a_file_of_the_image_stays_out_of_the_way_of_mounts() -> None:
    files = ImageFiles(Path("/pod"), Image(files={"/www/a": "a", "/www/b": "b"}))
    assert [mount.target for mount in files.mounts([])] == ["/www/a", "/www/b"]
    assert [mount.target for mount in files.mounts(["/www/a"])] == ["/www/b"]
    assert files.mounts(["/www"]) == []
