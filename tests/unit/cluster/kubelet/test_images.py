"""The table of images, and the errors about an invalid one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seamark_cluster.kubelet.images import Image, Images, filled, load
from seamark_runtime.errors import UserError


def test_our_echo_image_is_known_with_any_tag() -> None:
    image = Images().find("seamark.dev/echo:v7")
    assert image is not None
    assert "seamark_cluster.echo" in image.command


def test_an_exact_name_precedes_a_pattern_and_a_longer_pattern_a_shorter() -> None:
    images = Images({"a/*": Image(command=("any",)), "a/web:*": Image(command=("web",)), "a/web:1": Image(("one",))})
    assert [images.find(name) for name in ("a/web:1", "a/web:2", "a/x")] == [
        Image(("one",)),
        Image(command=("web",)),
        Image(command=("any",)),
    ]


def test_an_unknown_image_is_reported_with_the_known_ones() -> None:
    images = Images({"shop/web:*": Image()})
    assert images.find("nginx") is None
    assert '"nginx" is not in this node\'s table' in images.unknown("nginx")
    assert "shop/web:*" in images.unknown("nginx")


def test_a_table_is_read_from_yaml(tmp_path: Path) -> None:
    table = tmp_path / "images.yaml"
    table.write_text("images:\n  shop/web:*: {command: [/bin/web, '{ip}'], args: [-v], env: {MODE: test}}\n")
    assert load(table).find("shop/web:1") == Image(("/bin/web", "{ip}"), ("-v",), {"MODE": "test"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("images: [1, 2]", "Expected `object`"),
        ("images: {a: {comand: [x]}}", "unknown field `comand`"),
        ("images: {a: {command: x}}", "Expected `array`"),
        ("images: {a: {command: [x]", "is not valid YAML"),
    ],
)
def test_an_error_in_the_table_is_reported_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    table = tmp_path / "images.yaml"
    table.write_text(text)
    with pytest.raises(UserError, match=message) as raised:
        load(table)
    assert "\n" not in raised.value.message


def test_a_missing_table_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no table of images"):
        load(tmp_path / "none.yaml")


def test_templates_are_filled_in() -> None:
    text = filled("{python} {ip}:80 {root}/x", ip="10.244.0.9", root=Path("/pods/1"))
    assert text == f"{sys.executable} 10.244.0.9:80 /pods/1/x"
