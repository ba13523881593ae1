"""CEL at the edge: conditions of policy rules, selectors of bound endpoints, filters of lists.

- `POLICY` runs for every connection, over its addresses and names; `SELECTOR` and `FILTER` run over objects as the API
  shows them, whose descriptions and metadata are longer.
- An expression above a limit, or with a name or a function that is not known, is refused when it is set; an evaluation
  above its budget fails.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from seamark_runtime.cel import CelError, Language, Limits, Program, SyntaxProblem
from seamark_runtime.cel.declarations import Shape
from seamark_runtime.cel.functions import Function, Library
from seamark_runtime.cel.library import STANDARD
from seamark_runtime.cel.values import no_overload

MAX_EXPRESSION = 4096
MAX_COST = 10_000  # steps: a few milliseconds


class ExpressionError(Exception):
    """Not an expression that can be run; the message names it and says why."""


def in_cidr_range(address: Any, cidr: Any) -> bool:
    """Whether an address is in a range. An address of the other family is not."""
    if not isinstance(address, str) or not isinstance(cidr, str):
        raise no_overload("inCidrRange")
    return ipaddress.ip_address(address) in ipaddress.ip_network(cidr, strict=False)


def in_cidr_ranges(address: Any, cidrs: Any) -> bool:
    if not isinstance(cidrs, list):
        raise no_overload("inCidrRanges")
    return any(in_cidr_range(address, cidr) for cidr in cidrs)


_PARSING = 20  # steps to read an address and a range
_NETWORK = Library(
    plain={
        "inCidrRange": Function(in_cidr_range, steps=_PARSING),
        "inCidrRanges": Function(in_cidr_ranges, per_item=_PARSING),
    }
)


ENDPOINT: Mapping[str, Shape] = {"endpoint": None, "ep": None}  # the names of selectors of bound endpoints
OBJECT: Mapping[str, Shape] = {"obj": None}  # the name of filters of lists
CONNECTION: Mapping[str, Shape] = {  # the names of conditions in policies
    "conn": {"client_ip": str, "client_port": int, "server_port": int, "tls": {"sni": str}}
}


def _language(input_items: int, input_text: int, declared: Mapping[str, Shape]) -> Language:
    limits = Limits(
        length=MAX_EXPRESSION,
        depth=32,
        nodes=1000,
        budget=MAX_COST,
        text=16 * 1024,
        cost=MAX_COST,
        input_items=input_items,
        input_text=input_text,
        pattern_memory=64 * 1024,
    )
    return Language(STANDARD | _NETWORK, limits, keep=128, declared=declared)


POLICY = _language(input_items=8, input_text=256, declared=CONNECTION)
SELECTOR = _language(input_items=64, input_text=4096, declared=ENDPOINT)
FILTER = _language(input_items=64, input_text=4096, declared=OBJECT)


def compiled(source: str, language: Language = SELECTOR) -> Program:
    try:
        return language.compile(source)
    except SyntaxProblem as problem:
        raise ExpressionError(f"{_shown(source)} is no CEL expression that can be used: {problem}") from None


def value(source: str, names: dict[str, Any], language: Language = SELECTOR) -> Any:
    """What the expression gives for these names; an `ExpressionError` if it can't be evaluated."""
    program = compiled(source, language)
    try:
        return program(names)
    except CelError as error:
        raise ExpressionError(f"{_shown(source)} can't be evaluated: {error}") from None


def holds(source: str, names: dict[str, Any], language: Language = SELECTOR) -> bool:
    """Whether the expression is true of these names. One that fails (an unknown field) is not true."""
    try:
        return value(source, names, language) is True
    except ExpressionError:
        return False


def _shown(source: str) -> str:
    """An expression as a message shows it: short, and without control characters."""
    return ascii(source if len(source) <= 100 else source[:100] + "...")
