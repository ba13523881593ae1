"""Impersonation: `kubectl --as`, for users with the right to it."""

from __future__ import annotations

from multidict import CIMultiDictProxy

from seamark_cluster.embedded.calls import User
from seamark_cluster.embedded.rbac import Attributes, Authorizer

ACCOUNT = "system:serviceaccount:"
EVERY_ACCOUNT = "system:serviceaccounts"


def impersonated(user: User, headers: CIMultiDictProxy[str], authorizer: Authorizer) -> User:
    """The impersonated user; ApiError if the caller may not impersonate them."""
    name = headers.get("Impersonate-User", "")
    groups = tuple(headers.getall("Impersonate-Group", []))
    if not name and not groups:
        return user
    if name.startswith(ACCOUNT) and name.count(":") == 3:
        namespace, account = name.removeprefix(ACCOUNT).split(":")
        attributes = Attributes("impersonate", "", "serviceaccounts", "", namespace, account)
        groups = groups or (EVERY_ACCOUNT, f"{EVERY_ACCOUNT}:{namespace}")
    else:
        attributes = Attributes("impersonate", "", "users", "", "", name)
    authorizer.require(user, attributes)
    for group in headers.getall("Impersonate-Group", []):
        authorizer.require(user, Attributes("impersonate", "", "groups", "", "", group))
    return User(name, groups, headers.get("Impersonate-Uid", ""))
