"""The API server's semantics as a library: one function from a request to a response.

No sockets, no threads, no hidden clock: time, uids and randomness are injected, so the same requests always give the
same responses.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from seamark_cluster.embedded import bodies
from seamark_cluster.embedded.admission import Chain
from seamark_cluster.embedded.builtin.addresses import Addresses
from seamark_cluster.embedded.calls import ADMIN, Call, User, parse_path, verb_of
from seamark_cluster.embedded.collector import Collector
from seamark_cluster.embedded.custom.kind import CustomKind
from seamark_cluster.embedded.definitions import Definitions
from seamark_cluster.embedded.deletes import Deletes, read_options
from seamark_cluster.embedded.machinery.errors import (
    ApiError,
    Json,
    no_such_path,
    not_allowed,
    not_found,
    not_supported,
)
from seamark_cluster.embedded.machinery.revisions import Revisions, encode
from seamark_cluster.embedded.patching import Patching
from seamark_cluster.embedded.rbac import Attributes, Authorizer
from seamark_cluster.embedded.reads import Reads
from seamark_cluster.embedded.registry import DEFINITIONS, Registry
from seamark_cluster.embedded.reviews import Review, Reviews
from seamark_cluster.embedded.subresources import SPECIAL, Subresources
from seamark_cluster.embedded.watching import Pace, Watch, Watching
from seamark_cluster.embedded.writes import Writes
from seamark_runtime.clock import Clock, SystemClock
from seamark_runtime.transport import Answer, HttpRequest

_PLAIN_404 = Answer(404, b"404 page not found\n", {"Content-Type": "text/plain; charset=utf-8"})


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of a store."""

    service_network: str = "10.96.0.0/16"
    namespaces: tuple[str, ...] = ("default", "kube-system", "kube-public", "kube-node-lease")
    pace: Pace = field(default_factory=Pace)
    first_revision: int = 1
    history: int = 10_000
    """The minimum number of changes kept, for resumed watches and pages of old lists."""
    controllers: bool = True
    """Whether the store runs garbage collection, namespace deletion and quotas itself, after each request."""


def counted_uids(chance: random.Random) -> Callable[[], str]:
    """Uids from a given random source."""
    return lambda: str(uuid.UUID(int=chance.getrandbits(128), version=4))


class Store:
    """An API server without a socket.

    - `handle` responds to any request of any user; a watch is returned as an open `Watch` instead of an `Answer`.
    - `create`, `get`, `delete` and `objects` do the same for code with plain values.
    - For tests and the simulator: `compact`, `restore`, `restart`.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        chance: random.Random | None = None,
        uid: Callable[[], str] | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.clock = clock or SystemClock()
        chance = chance or random.Random()
        uid = uid or counted_uids(chance)
        self.revisions = Revisions(self.settings.first_revision, self.settings.history)
        self.registry = Registry()
        self.authorizer = Authorizer(self.revisions)
        self._tokens: dict[str, User] = {}
        self._token_listeners: list[Callable[[str, User], None]] = []
        self._chance = chance
        admission = Chain(self.revisions, Addresses(self.revisions, self.settings.service_network))
        self._reads = Reads(self.revisions)
        self._writes = Writes(self.revisions, admission, self.clock.wall, uid, chance)
        self._patching = Patching(self._writes, self.clock.wall)
        self._deletes = Deletes(self.revisions, admission, self.clock.wall)
        self._collector = Collector(self.revisions, self.registry, self._deletes, self.clock.wall)
        self._reviews = Reviews(self.authorizer, self.user_of, self.clock.wall)
        self._subresources = Subresources(
            self.revisions, self._writes, self._deletes, self.clock.wall, self.issue_token
        )
        self._quotas = admission.quotas
        self._watching = Watching(self.revisions, self.settings.pace)
        self._verbs: dict[str, Callable[[Call], Json]] = {
            "get": self._reads.get,
            "list": self._reads.list,
            "delete": self._deletes.delete,
            "deletecollection": self._delete_collection,
        }
        self._definitions = Definitions(self.revisions, self.registry, self.clock.wall)
        self.revisions.subscribe(DEFINITIONS, self._definitions.changed)
        if self.settings.controllers:
            self.revisions.follow(self._collector.changed)
            self.revisions.follow(self._quotas.changed)
        for name in self.settings.namespaces:
            self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    # --- requests

    def handle(self, request: HttpRequest, user: User = ADMIN, agent: str = "unknown") -> Answer | Watch:
        path = parse_path(request.path)
        if path is None:
            return _PLAIN_404
        kind = self.registry.find(path.group, path.version, path.plural)
        if kind is None:
            return _PLAIN_404
        verb = verb_of(request.method, path, request.query)
        call = Call(verb, kind, path, user, request.query, request.body, request.content_type, agent)
        try:
            return self._run(call)
        except ApiError as error:
            return _answer(error.code, error.document(), call)

    def _run(self, call: Call) -> Answer | Watch:
        self.authorizer.require(call.user, _attributes(call))
        self._check_place(call)
        if call.kind.policy.deprecated:
            call.warnings.append(call.kind.policy.deprecated)
        if call.verb == "watch":
            return self._watching.watch(call)
        obj, created = self._perform(call)
        answer = _answer(201 if created else 200, obj, call)
        self._collector.settle()
        return answer

    def settle(self) -> None:
        """Lets the controllers finish what is left to do."""
        self._collector.settle()

    def _perform(self, call: Call) -> tuple[Json, bool]:
        """The result of the verb, and whether it created an object."""
        if call.subresource in SPECIAL:
            return self._subresources.handle(call)
        match call.verb:
            case "create" if isinstance(call.kind, Review):
                obj = bodies.read(call, bodies.document(call))
                if call.kind.names.kind != "SelfSubjectRulesReview":
                    obj = self._writes.claimed(call, call.kind.empty(), obj, None)
                return self._reviews.answer(call, obj), True
            case "create":
                return self._writes.create(call, bodies.document(call)), True
            case "update":
                return self._writes.update(call, bodies.document(call))
            case "patch":
                return self._patching.patch(call)
            case verb if verb in self._verbs:
                return self._verbs[verb](call), False
            case verb:
                raise not_supported(call.kind.names.group, call.kind.names.plural, verb)

    def _check_place(self, call: Call) -> None:
        names, policy = call.kind.names, call.kind.policy
        if call.subresource and call.subresource not in policy.subresources:
            if isinstance(call.kind, CustomKind):
                raise not_found(names.group, names.plural, call.name)
            raise no_such_path()
        verbs = ("get", "update", "patch", "create") if call.subresource else policy.verbs
        if call.subresource == "status" and call.verb == "create":
            verbs = ()
        if call.verb == "create" and call.name and not call.subresource and names.plural != "namespaces":
            verbs = ()
        placed = call.namespace or not names.namespaced or call.verb in ("list", "watch")
        if call.verb not in verbs or not placed:
            if isinstance(call.kind, CustomKind):
                raise not_supported(names.group, names.plural, call.verb)
            raise not_allowed()

    def _delete_collection(self, call: Call) -> Json:
        listed = self._reads.list(call)
        options = read_options(call)
        for item in listed["items"]:
            meta = item["metadata"]
            self._deletes.remove(call, (meta.get("namespace", ""), meta["name"]), options)
        return listed

    # --- plain values

    def create(self, document: Json, user: User = ADMIN) -> Json:
        """Creates an object from a manifest."""
        return self._writes.create(self._call("create", document, user), document)

    def apply(self, document: Json, manager: str, user: User = ADMIN) -> Json:
        """Server-side apply of a manifest, with force."""
        call = self._call("patch", document, user)
        query = {"fieldManager": manager, "force": "true"}
        call = Call("patch", call.kind, call.path, user, query, encode(document), bodies.APPLY, manager)
        return self._patching.patch(call)[0]

    def get(self, resource: str, namespace: str, name: str) -> Json | None:
        """An object as stored (`resource` is `plural` or `plural.group`), or None. Not to be changed."""
        return self.revisions.get(resource, (namespace, name))

    def objects(self, resource: str) -> list[Json]:
        return [obj for _, obj in self.revisions.objects(resource)]

    def delete(self, resource: str, namespace: str, name: str, user: User = ADMIN) -> Json:
        kind = self.registry.of_storage(resource)
        if kind is None:
            raise no_such_path()
        names = kind.names
        path = parse_path(_object_path(names.group, names.version, names.plural, namespace, name))
        assert path is not None
        return self._deletes.delete(Call("delete", kind, path, user))

    def _call(self, verb: str, document: Json, user: User) -> Call:
        kind = self.registry.by_kind(document.get("apiVersion", ""), document.get("kind", ""))
        if kind is None:
            raise no_such_path()
        names, meta = kind.names, document.get("metadata") or {}
        namespace = meta.get("namespace") or ("default" if names.namespaced else "")
        path = parse_path(_object_path(names.group, names.version, names.plural, namespace, meta.get("name", "")))
        assert path is not None
        return Call(verb, kind, path, user)

    # --- users

    def issue_token(self, user: User) -> str:
        """A new token for a user."""
        token = f"{self._chance.getrandbits(128):032x}"
        self.register_token(token, user)
        return token

    def register_token(self, token: str, user: User) -> None:
        """Registers a token of a user."""
        self._tokens[token] = user
        for listener in self._token_listeners:
            listener(token, user)

    def tokens(self) -> list[tuple[str, User]]:
        return list(self._tokens.items())

    def on_token(self, listener: Callable[[str, User], None]) -> None:
        """Calls the listener with every token that is registered from now on."""
        self._token_listeners.append(listener)

    def user_of(self, token: str) -> User | None:
        return self._tokens.get(token)

    # --- faults

    def withdraw(self, user: User) -> list[Json]:
        """Removes every role binding of a user. Returns the bindings, so that `create` can restore them."""
        taken = []
        for plural in ("rolebindings", "clusterrolebindings"):
            resource = f"{plural}.rbac.authorization.k8s.io"
            for key, binding in list(self.revisions.objects(resource)):
                if any(
                    subject.get("name") in (user.name, user.name.rpartition(":")[2])
                    for subject in binding.get("subjects") or ()
                ):
                    kept = {key: value for key, value in binding["metadata"].items() if key in ("name", "namespace")}
                    taken.append({**binding, "metadata": kept})
                    self.revisions.write(resource, key, None)
        return taken

    def compact(self, revision: int | None = None) -> None:
        """Drops history: lists and watches that need it get 410."""
        self.revisions.compact(revision)

    def restore(self, revision: int) -> None:
        """etcd is restored to an older state: later writes are undone, and their revisions are used again."""
        self.revisions.restore(revision)
        self._rebuild()

    def load(self, objects: Mapping[tuple[str, str, str], Json], revision: int) -> None:
        """Replaces the state by that of another store, by resource, namespace and name."""
        self.revisions.load(objects, revision)
        self._rebuild()

    def _rebuild(self) -> None:
        self.registry.reset()
        for _, definition in self.revisions.objects(DEFINITIONS):
            self.registry.install(definition)
        self._collector.reset()
        self._watching.drop_all()

    def restart(self) -> None:
        """The API server restarts: every stream breaks, no stored object is lost."""
        self._watching.drop_all()


def _attributes(call: Call) -> Attributes:
    names = call.kind.names
    verb = {"head": "get"}.get(call.verb, call.verb)
    namespace = call.namespace
    return Attributes(verb, names.group, names.plural, call.subresource, namespace, call.name)


def _object_path(group: str, version: str, plural: str, namespace: str, name: str) -> str:
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{scope}/{plural}" + (f"/{name}" if name else "")


def _answer(code: int, document: Json, call: Call) -> Answer:
    headers = {"Content-Type": "application/json"}
    if call.warnings:
        headers["Warning"] = ", ".join(f'299 - "{text}"' for text in _escaped(call.warnings))
    seconds = (document.get("details") or {}).get("retryAfterSeconds") if code >= 400 else None
    if seconds:
        headers["Retry-After"] = str(seconds)
    return Answer(code, encode(document), headers)


def _escaped(warnings: list[str]) -> list[str]:
    return [text.replace("\\", "\\\\").replace('"', '\\"') for text in warnings]
