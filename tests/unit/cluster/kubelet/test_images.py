"""The table of images: what a person writes, and what is said when it is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from seamark.cluster.kubelet.images import Image, Images, filled, load
from seamark.core.errors import UserError


def test_our_echo_image_is_known_with_any_tag() -> None:
    image = Images().find("seamark.dev/echo:v7")
    assert image is not None
    assert "seamark.cluster.echo" in image.command


def test_an_exact_name_goes_before_a_pattern_and_a_longer_pattern_before_a_shorter() -> None:
    images = Images({"a/*": Image(command=("any",)), "a/web:*": Image(command=("web",)), "a/web:1": Image(("one",))})
    assert [images.find(name) for name in ("a/web:1", "a/web:2", "a/x")] == [
        Image(("one",)),
        Image(command=("web",)),
        Image(command=("any",)),
    ]


def test_an_unknown_image_is_told_with_what_is_known() -> None:
    images = Images({"shop/web:*": Image()})
    assert images.find("nginx") is None
    assert '"nginx" is not in this node\'s table' in images.unknown("nginx")
    assert "shop/web:*" in images.unknown("nginx")


def test_a_table_is_read_from_yaml(tmp_path: Path) -> None:
    table = tmp_path / "images.yaml"
    table.write_text("images:\n  shop/web:*: {command: [/bin/web, '{ip}'], args: [-v], env: {MODE: test}}\n")
    assert load(table).find("shop/web:1") == Image(("/bin/web", "{ip}"), ("-v",), {"MODE": "test"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("images: [1, 2]", "Expected `object`"),
        ("images: {a: {comand: [x]}}", "unknown field `comand`"),
        ("images: {a: {command: x}}", "Expected `array`"),
        ("images: {a: {command: [x]", "is no YAML"),
    ],
)
def test_a_mistake_in_the_table_is_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    table = tmp_path / "images.yaml"
    table.write_text(text)
    with pytest.raises(UserError, match=said) as told:
        load(table)
    assert "\n" not in told.value.message


def test_a_missing_table_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no table of images"):
        load(tmp_path / "none.yaml")


def test_templates_are_filled_in() -> None:
    text = filled("{python} {ip}:80 {root}/x", ip="10.244.0.9", root=Path("/pods/1"))
    assert text == f"{sys.executable} 10.244.0.9:80 /pods/1/x"
