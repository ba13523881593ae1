"""Content negotiation."""

from __future__ import annotations

import pytest

from seamark_cluster.embedded.machinery.errors import ApiError
from seamark_cluster.server.forms import Form, metadata_of, wanted

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("*/*", Form()),
        ("application/json", Form()),
        ("application/vnd.kubernetes.protobuf,application/json", Form()),
        ("application/vnd.kubernetes.protobuf", Form()),
        (f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Form(shape="Table")),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Form()),
        ("application/yaml", Form("application/yaml")),
        (
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            Form(shape="PartialObjectMetadataList"),
        ),
        ("text/html, application/json;q=0.5", Form()),
    ],
)
def test_the_first_form_that_there_is_is_taken(accept: str, form: Form) -> None:
    assert wanted(accept) == form


def test_a_client_that_accepts_no_supported_form_gets_406() -> None:
    with pytest.raises(ApiError, match="only the following media types are accepted") as raised:
        wanted("image/png")
    assert raised.value.code == 406


def test_metadata_alone_of_an_object_and_of_a_list() -> None:
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"x": 1}}
    bare = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "a"}}
    assert metadata_of(pod) == bare
    listed = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [pod]}
    assert metadata_of(listed)["items"] == [bare]
    assert metadata_of(listed)["kind"] == "PartialObjectMetadataList"
