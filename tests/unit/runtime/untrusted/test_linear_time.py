"""Work on untrusted text is linear: every pattern and every parser, on texts that make backtracking quadratic.

- Every module-level `Pattern` of the product is found and tried; one that is made elsewhere must be listed here.
- Parsers of tenant text are listed by hand. Each may refuse a text, by an error that it declares, and must be quick.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import seamark.api
import seamark_edge.api
import seamark_runtime.api
from seamark.families.bindings.model import targets as bindings_targets
from seamark.families.dns.model.selector import Selector
from seamark.families.dns.sources import annotations as dns_annotations
from seamark.families.gateway.rules import trafficpolicies
from seamark.families.gateway.values import durations
from seamark.families.loadbalancer.model import metadata, policies
from seamark.families.score.model import quantity
from seamark.families.score.model.planvalues import SecretPart
from seamark.families.score.orchestrator import placeholders
from seamark.families.score.platform import templates, uris
from seamark.families.score.platform.configuration import parse as parse_config
from seamark.families.score.rendering.pods import environment, literal
from seamark.families.score.scorefile import conversion as file
from seamark.providers.dns import targets as dns_targets
from seamark_edge import urls as loadbalancer_urls
from seamark_edge.edge.urls import check_host, parse_url
from seamark_edge.model import Owner
from seamark_runtime.api.meta import Object
from seamark_runtime.redaction import redact
from seamark_runtime.untrusted.dnsnames import canonical_name
from seamark_runtime.untrusted.names import is_name
from seamark_runtime.untrusted.patterns import Pattern
from tests.sources import modules

PRODUCT = ("seamark", "seamark_edge", "seamark_runtime")  # a developer's cluster reads a developer's text
SIZE = 60_000  # characters
MOST = 0.5  # seconds of CPU time: ten times what the slowest needs, and a hundredth of what backtracking took

PIECES = [
    *("${", "${a", "${a}", "$", "$$", "${$$", "$(", "{{", "{{a", "{{ ", "{{a}}", "}", "}}"),
    *("eyJ", "eyJaaaaaaaa.", "bearer ", "://a:", "-----BEGIN ", "password", "password: ", "password=", "--password "),
    *('"', '""', '"a', '\\"', "\\", '"\\', "'", "a", "a.", "a-", ".", "-", "_", "*", "*.", "a,", ",", "=", "a=b,"),
    *(" ", "\t", "\n", "\r\n", "0", "9", "1h", "1m", "9ms", "1 ", "1.", "[", "{", "[1,", '{"a":', "(", "http://", ":"),
    *("/", "@", "%41", "%", "?", "#", "ä", "\u0661", "\u202e", "\x00", "\ud800", "1e", "Ki", "- ", "a: ", "&a [*a, "),
]
TEXTS = {ascii(piece): (piece * SIZE)[:SIZE] for piece in PIECES}
TEXTS |= {"escaped quotes": '"' + '\\"' * (SIZE // 2)}
TEXTS |= {f"{piece} and the end of it": (piece * SIZE)[:SIZE] + "!" for piece in ("a", "a-", "a.", "1", '"a"', "\\")}

# Patterns that are made when a function runs, and where their text comes from.
MADE_LATER = {
    "seamark_runtime/cel/strings.py": "the pattern of an expression, charged by its size and by that of the text",
    "seamark_edge/edge/credentials.py": "the rules of a token's ACL, of at most 300 characters",
    "seamark/providers/dns/domains.py": "the domain filter of the installation or of a DNS provider",
}


QUOTED = {"seamark_edge/edge/credentials.py"}  # made of wildcards and quoted text


def spent(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def patterns() -> Iterator[tuple[str, str]]:
    """(file, name) of every module-level pattern; the name is empty for one that is made elsewhere."""
    for where, path in modules(*PRODUCT):
        if where == "seamark_runtime/untrusted/patterns.py":
            continue
        tree = ast.parse(path.read_text())
        named = {id(made): name for name, made in constants(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Pattern":
                yield where, named.get(id(node), "")


def constants(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            yield statement.targets[0].id, statement.value


CONSTANTS = [(where, name) for where, name in patterns() if name]


def test_every_pattern_is_a_constant_or_is_listed() -> None:
    assert {where for where, name in patterns() if not name} == set(MADE_LATER)
    assert len(CONSTANTS) > 20


def test_every_pattern_that_is_made_later_has_a_cost_that_is_checked_before() -> None:
    for where, path in modules(*PRODUCT):
        if where not in MADE_LATER or where in QUOTED:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Pattern":
                constant = isinstance(node.args[0], ast.Constant)
                assert constant or "most" in {keyword.arg for keyword in node.keywords}, where


USES: dict[str, Callable[[Pattern, str], object]] = {
    "fullmatch": Pattern.fullmatch,
    "match": Pattern.match,
    "search": Pattern.search,
    "finditer": lambda pattern, text: sum(1 for _ in pattern.finditer(text)),
    "sub": lambda pattern, text: pattern.sub("", text),
    "split": Pattern.split,
}


def uses(name: str) -> set[str]:
    """The methods that the product calls on a pattern of this name: a search is linear, many may not be."""
    called = re.compile(rf"\b{name}\.({'|'.join(USES)})\(")
    return {use for _, path in modules(*PRODUCT) for use in called.findall(path.read_text())} or {"search"}


@pytest.mark.parametrize(("where", "name"), CONSTANTS)
def test_a_pattern_takes_linear_time(where: str, name: str) -> None:
    module = importlib.import_module(where.removesuffix(".py").replace("/", "."))
    pattern = getattr(module, name)
    assert isinstance(pattern, Pattern)
    for use in uses(name):
        for shown, text in TEXTS.items():
            assert spent(lambda use=use, text=text: USES[use](pattern, text)) < MOST, shown  # type: ignore[misc]


def _target(type_: str) -> Callable[[str], object]:
    return lambda text: dns_targets.canonical(type_, text)


def _variable(text: str) -> object:
    secret, named = SecretPart(secret="s", key="k"), SecretPart(secret=text, key="k")
    return environment({"A": [text, secret, text], "B": [named, named]})


PARSERS: dict[str, Callable[[str], object]] = {
    "redaction": redact,
    "redaction of a message": lambda text: redact(text, 32_768),
    "Score placeholders": placeholders.parse,
    "resources in Score placeholders": placeholders.resources,
    "Score templates": lambda text: templates.fill(text, {"params": {}}),
    "faults of Score templates": templates.faults,
    "a value in a Score template": lambda text: templates.fill("{{.params.a}}" * 3, {"params": {"a": text}}),
    "Score URIs": uris.fault,
    "Score quantities": quantity.canonical,
    "Score quantity checks": quantity.check,
    "Score files": lambda text: file.convert(text, Path("score.yaml")),
    "Score configuration": parse_config,
    "Kubernetes variables": literal,
    "variables of a container": _variable,
    **{f"{type_} targets": _target(type_) for type_ in ("A", "AAAA", "CNAME", "MX", "SRV", "NAPTR", "TXT", "NS", "X")},
    "DNS names": canonical_name,
    "DNS lists": dns_annotations.listed,
    "DNS TTLs": dns_annotations.seconds,
    "DNS selectors": Selector.parse,
    "Gateway durations": durations.seconds,
    "messages about Gateway policies": trafficpolicies.plain,
    "load balancer URLs": loadbalancer_urls.place,
    "load balancer upstreams": loadbalancer_urls.upstream,
    "load balancer metadata": metadata.from_annotation,
    "load balancer policies": lambda text: policies.same(text, text),
    "load balancer ranges": lambda text: policies.bad_ranges([text]),
    "bound endpoints": bindings_targets.parse,
    "edge URLs": parse_url,
    "edge hosts": check_host,
    "owners at the edge": Owner.of,
    "names of objects": is_name,
}


@pytest.mark.parametrize("name", PARSERS)
def test_a_parser_takes_linear_time_and_raises_what_it_declares(name: str) -> None:
    def parse(text: str) -> None:
        try:
            PARSERS[name](text)
        except Exception as error:
            if not type(error).__module__.startswith("seamark"):
                raise

    for shown, text in TEXTS.items():
        assert spent(lambda text=text: parse(text)) < MOST, shown  # type: ignore[misc]


def described(node: Any, known: set[int]) -> Iterator[tuple[str, int]]:
    """(expression, longest text) of every string with a pattern in a description of types."""
    if isinstance(node, msgspec.inspect.StrType) and node.pattern:
        yield node.pattern, node.max_length or 1_000_000
    if isinstance(node, msgspec.Struct) and id(node) not in known:
        known.add(id(node))
        for name in node.__struct_fields__:
            yield from described(getattr(node, name), known)
    elif isinstance(node, tuple):
        for part in node:
            yield from described(part, known)


def expressions() -> dict[str, int]:
    """Those that msgspec applies with the standard library's engine while it decodes objects."""
    for package in (seamark.api, seamark_edge.api, seamark_runtime.api):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    kinds = [Object]
    for kind in kinds:
        kinds += kind.__subclasses__()
    known: set[int] = set()
    infos = msgspec.inspect.multi_type_info(kinds[1:])
    return {expression: longest for info in infos for expression, longest in described(info, known)}


@pytest.mark.parametrize(("expression", "longest"), expressions().items())
def test_an_expression_in_a_schema_takes_linear_time(expression: str, longest: int) -> None:
    compiled = re.compile(expression)
    for shown, text in TEXTS.items():
        assert spent(lambda text=text: compiled.search(text[:longest])) < MOST, shown  # type: ignore[misc]


@pytest.mark.parametrize("piece", ["${", "eyJ", '"a'])
def test_twice_the_text_takes_about_twice_the_time(piece: str) -> None:
    """Each of these took half a minute and more for 40,000 repetitions."""

    def work(count: int) -> float:
        return min(spent(lambda: everything(piece * count)) for _ in range(3))

    def everything(text: str) -> None:
        placeholders.parse(text)
        redact(text)
        with contextlib.suppress(dns_targets.BadTarget):
            dns_targets.text_of(text)

    assert work(320_000) < 8 * work(80_000) + 0.05
