"""Regular expressions for untrusted input: RE2, whose time is linear in the text.

- The standard library's `re` backtracks: a few kilobytes of chosen text can hold the event loop for minutes. A lint
  rule forbids it in the product; this module is what to use instead.
- Differences from `re` that matter: no look-around and no back-references; `\\w`, `\\d` and `\\s` are ASCII; `$` is the
  end of the text, never the position before a final newline.
- What an expression costs to compile is known from its syntax (`cost`): one that costs more than `MOST_COST` is refused
  before it is compiled. Where one object has many, a `Budget` bounds what they cost together.
- A text that is no valid Unicode (lone surrogates) is matched with `?` in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple, Protocol

import re2

from seamark_runtime.untrusted.patterncost import cost

# Time to compile grows with the square of the size, at worst: 20 ms for the one, and for the others together.
MOST_COST = 8192  # of one expression
MOST_TOGETHER = 16_384  # of all expressions of one object, each of at most a quarter of that


class InvalidPattern(ValueError):
    """The pattern is not valid in RE2's syntax. The message is RE2's own."""


class Match(Protocol):
    """What was found; groups that took no part are None."""

    def __getitem__(self, group: int | str) -> str: ...
    def group(self, group: int | str = 0) -> str: ...
    def groups(self) -> tuple[str | None, ...]: ...
    def start(self, group: int | str = 0) -> int: ...
    def end(self, group: int | str = 0) -> int: ...


class Pattern:
    """A compiled expression.

    A match or a search takes time linear in the length of the text. `finditer`, `sub` and `split` take that for each
    match, at worst: where one match may have to read far ahead (`a|a[^b]*b`), write plain string code instead.
    """

    def __init__(
        self,
        expression: str,
        *,
        ignore_case: bool = False,
        dot_newline: bool = False,
        memory: int = 8 * 2**20,
        most: int | None = None,
    ) -> None:
        """`memory` in bytes limits the compiled form: an expression that needs more is not valid. `most` is for every
        expression that is not our own: it is not valid either if it costs more than that, and is not compiled then."""
        if most is not None and (found := cost(expression, unicode=True, ignore_case=ignore_case)) > most:
            raise InvalidPattern(too_costly(found, most))
        options = re2.Options()
        options.log_errors = False
        options.case_sensitive = not ignore_case
        options.dot_nl = dot_newline
        options.max_mem = memory
        try:
            self._compiled = re2.compile(expression, options)
        except (re2.error, UnicodeEncodeError) as error:
            raise InvalidPattern(_message(error)) from None
        self.expression = expression

    @property
    def states(self) -> int:
        """How large the compiled form is. The work on a text is at most its length times this."""
        states: int = self._compiled.programsize
        return states

    @property
    def groups(self) -> int:
        """How many groups it has, besides the whole match."""
        groups: int = self._compiled.groups
        return groups

    def fullmatch(self, text: str) -> Match | None:
        found: Match | None = self._compiled.fullmatch(_unicode(text))
        return found

    def match(self, text: str) -> Match | None:
        found: Match | None = self._compiled.match(_unicode(text))
        return found

    def search(self, text: str) -> Match | None:
        found: Match | None = self._compiled.search(_unicode(text))
        return found

    def finditer(self, text: str) -> Iterator[Match]:
        found: Iterator[Match] = self._compiled.finditer(_unicode(text))
        return found

    def sub(self, replacement: str | Callable[[Match], str], text: str) -> str:
        replaced: str = self._compiled.sub(replacement, _unicode(text))
        return replaced

    def split(self, text: str) -> list[str]:
        pieces: list[str] = self._compiled.split(_unicode(text))
        return pieces


class Program(NamedTuple):
    """The compiled form of an expression for bytes."""

    size: int  # instructions
    groups: int


def program(expression: str, most: int = MOST_COST) -> Program:
    """An expression for bytes, as programs compile it that read no Unicode (Envoy does not).

    Raises `InvalidPattern` for what such a program refuses (`\\x{100}` names no byte), and, before it is compiled, for
    what costs more than `most`.
    """
    if (found := cost(expression)) > min(most, MOST_COST):
        raise InvalidPattern(too_costly(found, most))
    compiled = _program(expression)
    if isinstance(compiled, str):
        raise InvalidPattern(compiled)
    return compiled


@lru_cache(maxsize=8192)
def _program(expression: str) -> Program | str:
    """The program, or why there is none: what has been compiled once is not compiled again."""
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    try:
        compiled = re2.compile(expression.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        return _message(error)
    return Program(compiled.programsize, compiled.groups)


class Budget:
    """What the expressions of one object may cost together: asked before each is compiled."""

    def __init__(self, most: int = MOST_TOGETHER) -> None:
        self.most = most
        self.spent = 0

    def admits(self, expression: str) -> bool:
        """Whether it fits; then it is counted. Of one that does not, the length counts: it has been read."""
        if self.spent + len(expression) > self.most:
            return False
        found = cost(expression)
        admitted = self.spent + found <= self.most
        self.spent += found if admitted else len(expression)
        return admitted


def too_costly(found: int, most: int) -> str:
    return f"it takes about {found} instructions to compile, at most {most} are allowed: use smaller repetition counts"


def quote(text: str) -> str:
    """The text as an expression that matches exactly itself."""
    quoted: str = re2.escape(_unicode(text))
    return quoted


def _unicode(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _message(error: Exception) -> str:
    reason = error.args[0] if error.args else str(error)
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
