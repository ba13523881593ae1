"""The Gateway API's own CRDs: checked, and never replacing newer ones."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from seamark.gatewayapi.bundle import BUNDLE_VERSION, CHANNEL, checksum, documents, keeps
from seamark_runtime.errors import UserError


def marks(version: str, channel: str = "standard") -> dict[str, str]:
    return {BUNDLE_VERSION: version, CHANNEL: channel}


@pytest.mark.parametrize(
    ("installed", "stays"),
    [
        (marks("v1.7.0"), True),
        (marks("v1.10.0"), True),
        (marks("v1.6.1"), False),
        (marks("v1.5.9"), False),
        (marks("v1.6.1", "experimental"), True),
        ({}, False),
    ],
)
def test_what_is_installed_and_newer_stays(installed: dict[str, str], stays: bool) -> None:
    assert keeps(installed, marks("v1.6.1")) is stays


def test_the_checksum_is_that_of_go() -> None:
    """A line of go.sum: gopkg.in/inf.v0 v0.9.1/go.mod, whose content is known."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("go.mod", "module gopkg.in/inf.v0\n")
    assert checksum(content.getvalue()) == "h1:cWUDdTG/fYaXco+Dcufb5Vnc6Gp2YChqWtbxRZE0mXw="


def test_an_archive_that_is_not_what_it_should_be_is_not_used(tmp_path: Path) -> None:
    place = tmp_path / "seamark" / "gateway-api" / "v1.6.1.zip"
    place.parent.mkdir(parents=True)
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("sigs.k8s.io/gateway-api@v1.6.1/config/crd/standard/a_b.yaml", "kind: Evil\n")
    environment = {"XDG_CACHE_HOME": str(tmp_path)}
    with pytest.raises(UserError, match="can't be downloaded"):
        documents("standard", environment, proxy="http://127.0.0.1:9")


def test_a_channel_that_there_is_not_is_told() -> None:
    with pytest.raises(UserError, match="there is no channel"):
        documents("nightly")
