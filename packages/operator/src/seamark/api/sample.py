"""sample.seamark.dev: the kind that shows how a kind is made. It publishes a text, and posts it on a board."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import Meta

from seamark_runtime.api.meta import Condition, Object, Resource, Wire


class GreetingSpec(Wire, frozen=True, kw_only=True):
    text: Annotated[str, Meta(description="What to say", min_length=1, max_length=1000)]
    board: Annotated[
        str, Meta(description="The board to post it on; none if empty", max_length=63, pattern="^[a-z0-9-]*$")
    ] = ""


class ConfigMapRef(Wire, frozen=True, kw_only=True):
    name: str


class GreetingStatus(Wire, frozen=True, kw_only=True):
    observed_generation: int | None = None
    conditions: Annotated[
        tuple[Condition, ...],
        Meta(
            max_length=8,
            extra_json_schema={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()
    config_map_ref: Annotated[ConfigMapRef, Meta(description="The ConfigMap that holds the text")] | None = None


class Greeting(Object, frozen=True, kw_only=True):
    """A text that the cluster should know."""

    RESOURCE: ClassVar[Resource] = Resource("sample.seamark.dev", "v1alpha1", "Greeting", "greetings")

    spec: GreetingSpec
    status: GreetingStatus | None = None
