"""Regular expressions for untrusted input: RE2, whose time is linear in the text.

- The standard library's `re` backtracks: a few kilobytes of chosen text can hold the event loop for minutes. A lint
  rule forbids it in the product; this module is what to use instead.
- Differences from `re` that matter: no look-around and no back-references; `\\w`, `\\d` and `\\s` are ASCII; `$` is the
  end of the text, never the position before a final newline.
- A text that is no valid Unicode (lone surrogates) is matched with `?` in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import re2


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
        self, expression: str, *, ignore_case: bool = False, dot_newline: bool = False, memory: int = 8 * 2**20
    ) -> None:
        """`memory` in bytes limits the compiled form: an expression that needs more is not valid."""
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


def program_size(expression: bytes) -> int:
    """The instructions of an expression for bytes, as programs compile it that read no Unicode (Envoy does not).

    Raises `InvalidPattern` for what such a program refuses: `\\x{100}` names no byte.
    """
    options = re2.Options()
    options.log_errors = False
    options.encoding = re2.Options.Encoding.LATIN1
    try:
        size: int = re2.compile(expression, options).programsize
    except re2.error as error:
        raise InvalidPattern(_message(error)) from None
    return size


def quote(text: str) -> str:
    """The text as an expression that matches exactly itself."""
    quoted: str = re2.escape(_unicode(text))
    return quoted


def _unicode(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _message(error: Exception) -> str:
    reason = error.args[0] if error.args else str(error)
    return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
