"""Workloads written to stall the orchestrator or to have a value read as something else (docs/security.md)."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark.api.dns import DNSEndpoint
from seamark.api.score import ResourceClaim, Workload
from seamark.families.score.model.options import Options
from seamark.families.score.model.planvalues import SecretPart
from seamark.families.score.model.quantity import InvalidQuantity, canonical, check
from seamark.families.score.orchestrator.placeholders import MOST_DOLLARS, MOST_VALUES
from seamark.families.score.orchestrator.reconcile import MOST_CHARACTERS, examine
from seamark.families.score.orchestrator.state import CLAIMS, Outputs, Seen
from seamark.families.score.platform.configuration import ConfigError, built_in, parse
from seamark.families.score.platform.templates import fill
from seamark.families.score.provisioner.state import given as provided
from seamark.families.score.rendering.pods import environment, literal
from seamark.families.score.scorefile.conversion import ScoreFileError, convert
from seamark.families.score.workloadexposure.controller import FRONTS, RECORDS, ROUTES, fronts, routes_to
from seamark_runtime.api.core import EnvVar, Service
from seamark_runtime.api.gateway import HTTPRoute, ReferenceGrant
from seamark_runtime.api.meta import Key
from seamark_runtime.ownership import within


def seen(variables: dict[str, str], *, outputs: dict[str, str] | None = None, **metadata: Any) -> Seen:
    resources = {"resources": {"db": {"type": "postgres"}}} if outputs is not None else {}
    manifest = {
        "metadata": {"name": "app", "namespace": "default", "uid": "u", "generation": 1, **metadata},
        "spec": {"containers": {"main": {"image": "nginx", "variables": variables}}, **resources},
    }
    bound = {"db": Outputs(outputs)} if outputs is not None else {}
    ref = {"name": "app", "namespace": "default", "uid": "u"}
    claim = {"spec": {"workloadRef": ref, "key": "db", "type": "postgres"}}
    claims = {"db": msgspec.convert(claim, ResourceClaim)} if bound else {}
    return Seen(msgspec.convert(manifest, Workload), built_in(), claims=claims, outputs=bound)


def resolved(given: Seen, name: str) -> Any:
    examined = examine(given)
    assert examined.plan is not None, examined.wrong
    values: Any = examined.plan.spec.resolved_values
    return values["containers"]["main"]["variables"][name]


# ---- time and size


@pytest.mark.parametrize("piece", ["${", "$${", "${$$", "${metadata.name}", "${metadata.name", "$", "}", "${}", "${."])
def test_a_variable_of_60_kb_costs_milliseconds(piece: str) -> None:
    given = seen({"A": piece * (60_000 // len(piece))})
    began = time.process_time()
    examine(given)
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize("piece", ["${", "$a", "${metadata.name}", "$${"])
def test_more_dollars_than_a_workload_may_have_are_refused_before_they_are_parsed(piece: str) -> None:
    allowed = seen({"A": piece * (MOST_DOLLARS // piece.count("$"))})
    assert "characters $" not in examine(allowed).wrong
    examined = examine(seen({"A": piece * MOST_DOLLARS, "B": piece}))
    assert examined.wrong.startswith(f"spec: the Workload has more than {MOST_DOLLARS} characters $")


def test_more_values_than_placeholders_are_looked_for_in_are_refused() -> None:
    def params(number: int) -> Any:
        manifest = {
            "metadata": {"name": "app", "namespace": "default", "uid": "u", "generation": 1},
            "spec": {
                "containers": {"main": {"image": "nginx"}},
                "resources": {"db": {"type": "postgres", "params": {"list": [1] * number}}},
            },
        }
        return examine(Seen(msgspec.convert(manifest, Workload), built_in())).wrong

    assert f"more than {MOST_VALUES} values" not in params(MOST_VALUES - 10)
    assert f"more than {MOST_VALUES} values" in params(500_000)


def test_a_message_shows_only_the_beginning_of_a_long_placeholder() -> None:
    examined = examine(seen({"A": "${" + "x" * 60_000 + "}"}))
    assert examined.wrong.startswith("containers.main.variables.A: ${xxx")
    assert len(examined.wrong) < 300


def test_placeholders_can_not_multiply_a_long_value() -> None:
    given = seen({"A": "${metadata.annotations.a}" * 2_000}, annotations={"a": "x" * 100_000})
    began = time.process_time()
    assert f"more than {MOST_CHARACTERS} characters" in examine(given).wrong
    assert time.process_time() - began < 0.5


def test_many_secrets_in_one_variable_cost_milliseconds() -> None:
    parts: list[Any] = [SecretPart(secret="s", key=f"k{number}") for number in range(5_000)]
    began = time.process_time()
    assert len(environment({"A": [*parts, "x", *parts]})) == 5_001
    assert time.process_time() - began < 0.5


# ---- values are not read again


def expand(text: str, variables: dict[str, str]) -> str:
    """What Kubernetes makes of the value of a variable (k8s.io/kubernetes/third_party/forked/golang/expansion)."""
    result, at = "", 0
    while at < len(text):
        if text[at] == "$" and at + 1 < len(text):
            following = text[at + 1]
            end = text.find(")", at)
            if following == "$":
                result, at = result + "$", at + 2
                continue
            if following == "(" and end > 0:
                name = text[at + 2 : end]
                result, at = result + variables.get(name, f"$({name})"), end + 1
                continue
        result, at = result + text[at], at + 1
    return result


def run(variables: tuple[EnvVar, ...], secrets: dict[tuple[str, str], str]) -> dict[str, str]:
    """The environment that a container gets."""
    found: dict[str, str] = {}
    for variable in variables:
        reference = variable.value_from.secret_key_ref if variable.value_from is not None else None
        found[variable.name] = (
            secrets[reference.name, reference.key] if reference else expand(variable.value or "", found)
        )
    return found


@given(st.text(st.sampled_from("$$$()A{}x")))
def test_kubernetes_expands_a_literal_text_to_itself(text: str) -> None:
    assert expand(literal(text), {"A": "expanded"}) == text


@given(st.lists(st.text(st.sampled_from("$()Ax"), max_size=5), max_size=5))
def test_a_variable_is_its_texts_with_the_secrets_between_them(texts: list[str]) -> None:
    parts: list[Any] = [part for text in texts for part in (text, SecretPart(secret="s", key="k"))]
    got = run(environment({"A": ["x"], "B": [*parts, ""]}), {("s", "k"): "secret"})
    assert got["B"] == "".join(f"{text}secret" for text in texts)


def test_a_value_of_a_placeholder_is_not_a_placeholder() -> None:
    given = seen({"A": "${resources.db.host}"}, outputs={"host": "${metadata.name} $(B) {{.params.x}}"})
    assert resolved(given, "A") == ["${metadata.name} $(B) {{.params.x}}"]


def test_a_value_in_a_template_is_not_a_template() -> None:
    values = {"params": {"a": "{{.params.b}}", "b": "secret"}, "workload": {"name": "app"}}
    assert fill("{{.params.a}} {{.workload.name}}", values) == "{{.params.b}} app"


# ---- quantities


@pytest.mark.parametrize("text", ["1e30", "1e400", "1e999", "9" * 31 + "E", "8Ei", "9223372036854775808"])
def test_a_quantity_that_is_too_large_is_refused_with_the_limit(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="too large: Kubernetes counts up to 9223372036854775807"):
        check(text)


@pytest.mark.parametrize("text", ["0x10", "", "-1", "1 ", "1_0", "\u0661", "9" * 5_000, "1e9999", "1e", "Ki", "nan"])
def test_what_is_not_a_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidQuantity, match="is not a quantity: write a number and a unit"):
        check(text)


@given(st.from_regex(r"\A[0-9]{1,25}(\.[0-9]{0,12})?(m|k|Ki|Ei|E|e[-+]?[0-9]{1,3})?\Z"))
def test_no_quantity_makes_rendering_fail(text: str) -> None:
    once = canonical(text)
    assert canonical(once) == once or len(once) > 32


# ---- documents


LEVELS = [f"{after}: &{after} [{f'*{before}, ' * 9}]" for before, after in itertools.pairwise("abcdefgh")]
BOMB = "\n".join(["a: &a [x, x, x, x, x, x, x, x, x]", *LEVELS])
DOCUMENTS = {"an alias bomb": BOMB, "nesting": "[" * 5_000, "a long number": "a: " + "9" * 5_000, "broken": "a: ["}


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_score_file_beyond_the_limits_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ScoreFileError) as refused:
        convert(text, Path("score.yaml"))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", DOCUMENTS.values(), ids=DOCUMENTS)
def test_a_configuration_beyond_the_limits_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(text)
    assert "\n" not in str(refused.value)


# ---- what no process can be given


def examined(**container: Any) -> str:
    manifest = {
        "metadata": {"name": "app", "namespace": "default", "uid": "u", "annotations": {"nul": "a\x00b"}},
        "spec": {"containers": {"main": {"image": "nginx", **container}}},
    }
    return examine(Seen(msgspec.convert(manifest, Workload), built_in())).wrong


NUL = "a\x00b"


@pytest.mark.parametrize(
    ("container", "field"),
    [
        ({"variables": {"A": NUL}}, "variables.A"),
        ({"variables": {"A": "${metadata.annotations.nul}"}}, "variables.A"),
        ({"command": ["run", NUL]}, "command[1]"),
        ({"args": [NUL]}, "args[0]"),
        ({"livenessProbe": {"exec": {"command": [NUL]}}}, "livenessProbe.exec.command[0]"),
        ({"files": [{"target": "/f", "content": NUL}]}, "files[/f].content"),
        ({"files": [{"target": "/f", "content": NUL, "noExpand": True}]}, "files[/f].content"),
        ({"files": [{"target": "/f", "content": "${metadata.annotations.nul}"}]}, "files[/f].content"),
        ({"files": [{"target": f"/{NUL}", "content": ""}]}, "files[0].target"),
        ({"volumes": [{"target": f"/{NUL}", "source": "v"}]}, "volumes[0].target"),
    ],
)
def test_a_nul_character_is_refused_with_its_field(container: dict[str, Any], field: str) -> None:
    wrong = examined(**container)
    assert wrong.startswith(f"containers.main.{field}: it contains a NUL character")
    assert "\x00" not in wrong


@pytest.mark.parametrize("target", ["/", "//", "/../../..", "/etc/../x", "/./x", "etc/x", "..", "/etc/dir/"])
def test_a_file_is_below_the_root_of_its_container(target: str) -> None:
    wrong = examined(files=[{"target": target, "content": "x"}])
    assert wrong.startswith(f"containers.main.files[0].target: {target!r} ")


@pytest.mark.parametrize("target", ["/", "/../../..", "data"])
def test_a_volume_is_below_the_root_of_its_container(target: str) -> None:
    wrong = examined(volumes=[{"target": target, "source": "v"}])
    assert wrong.startswith(f"containers.main.volumes[0].target: {target!r} ")


@pytest.mark.parametrize("target", ["/f", "/etc/app/x.conf", "/..data/x", "/a..b"])
def test_an_absolute_target_is_accepted(target: str) -> None:
    assert examined(files=[{"target": target, "content": "x"}]) == ""


# ---- what other namespaces say about a Workload


class Indexed:
    """A view of a few objects, by index only."""

    def __init__(self, *objects: Any) -> None:
        self._objects = objects

    def by(self, index: Any, value: Any) -> tuple[Any, ...]:
        return tuple(obj for obj in self._objects if isinstance(obj, index.kind) and value in set(index.values(obj)))


def claim_in(namespace: str, of: str = "default") -> ResourceClaim:
    manifest = {
        "metadata": {"name": "app-db", "namespace": namespace, "uid": "c"},
        "spec": {"type": "postgres", "key": "db", "workloadRef": {"name": "app", "namespace": of, "uid": "u"}},
    }
    return msgspec.convert(manifest, ResourceClaim)


def test_a_claim_of_another_namespace_is_not_the_workloads_whatever_uid_it_names() -> None:
    own, forged = claim_in("default"), claim_in("mallory")
    workload = seen({}).workload
    assert Indexed(own, forged).by(CLAIMS, within(workload, workload.uid)) == (own,)


def test_a_claim_for_a_workload_of_another_namespace_is_refused() -> None:
    provisioner = built_in().provisioner("dns", "")
    assert provisioner is not None
    foreign, own = (
        provided(each, provisioner, lambda _: None) for each in (claim_in("mallory", of="default"), claim_in("default"))
    )
    assert "spec.workloadRef.namespace" in foreign.missing
    assert "workloadRef" not in own.missing


def test_a_service_of_another_namespace_does_not_stand_before_a_gateway_whatever_its_labels_are() -> None:
    def service(namespace: str) -> Service:
        labels = {
            "gateway.networking.k8s.io/gateway-name": "front",
            "gateway.networking.k8s.io/gateway-namespace": "shop",
        }
        return msgspec.convert({"metadata": {"name": "s", "namespace": namespace, "labels": labels}}, Service)

    own, operators, forged = service("shop"), service("seamark-system"), service("mallory")
    view: Any = Indexed(own, operators, forged)
    assert fronts(view, Key("shop", "front"), Options()) == (own, operators)
    trusted = {("shop", Key("shop", "front")), ("seamark-system", Key("shop", "front"))}
    assert trusted.isdisjoint(FRONTS.values(forged)), "its changes requeue nobody else"


def test_a_route_of_another_namespace_leads_to_a_workload_only_by_a_grant_of_its_namespace() -> None:
    def route(namespace: str) -> HTTPRoute:
        spec = {"rules": [{"backendRefs": [{"name": "app", "namespace": "shop", "port": 80}]}]}
        return msgspec.convert({"metadata": {"name": "r", "namespace": namespace}, "spec": spec}, HTTPRoute)

    def grant(namespace: str, source: str, name: str = "") -> ReferenceGrant:
        lets = {"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": source}
        spec = {"from": [lets], "to": [{"group": "", "kind": "Service", **({"name": name} if name else {})}]}
        return msgspec.convert({"metadata": {"name": "g", "namespace": namespace}, "spec": spec}, ReferenceGrant)

    own, other, app = route("shop"), route("mallory"), Key("shop", "app")
    for refused in ((), (grant("mallory", "mallory"),), (grant("shop", "mallory", "another"),)):
        view: Any = Indexed(own, other, *refused)
        assert routes_to(view, app) == (own,)
    assert ("shop", app) not in set(ROUTES.values(other)), "its changes requeue nobody else"
    let: Any = Indexed(own, other, grant("shop", "mallory"))
    assert routes_to(let, app) == (own, other)


def test_a_record_of_another_namespace_has_no_effect_on_a_name_of_a_workload() -> None:
    manifest = {
        "metadata": {"name": "r", "namespace": "mallory"},
        "spec": {"endpoints": [{"dnsName": "app.example.com.", "recordType": "A", "targets": ["192.0.2.1"]}]},
    }
    view = Indexed(msgspec.convert(manifest, DNSEndpoint))
    assert view.by(RECORDS, Key("default", "app.example.com")) == ()
    assert len(view.by(RECORDS, Key("mallory", "app.example.com"))) == 1
