"""authorization.k8s.io: access reviews."""

from __future__ import annotations

from typing import ClassVar

from seamark_runtime.api.meta import Object, Resource, Wire


class ResourceAttributes(Wire, frozen=True, kw_only=True):
    namespace: str = ""
    verb: str = ""
    group: str = ""
    resource: str = ""


class AccessReviewSpec(Wire, frozen=True, kw_only=True):
    resource_attributes: ResourceAttributes


class AccessReviewStatus(Wire, frozen=True, kw_only=True):
    allowed: bool = False
    reason: str = ""


class SelfSubjectAccessReview(Object, frozen=True, kw_only=True):
    """A question about ourselves, and in its status the answer. It is not kept anywhere."""

    RESOURCE: ClassVar[Resource] = Resource(
        "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
    )

    spec: AccessReviewSpec
    status: AccessReviewStatus | None = None
