"""From text to tokens, in one pass over the characters. A comment is white space, wherever it stands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from seamark_runtime.cel.values import INT_MAX, UINT_MAX, SyntaxProblem, UInt

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset("0123456789")
_OCTAL = frozenset("01234567")
_HEX = frozenset("0123456789abcdefABCDEF")
_SPACE = frozenset(" \t\n\r\f\v")
_PAIRS = frozenset(("&&", "||", "==", "!=", "<=", ">=", ".?", "[?"))
_SINGLES = frozenset("{}[]().,?:!<>+-*/%")
_PREFIXES = frozenset("rRbB")
_ESCAPES = dict(zip("ntrabfv\\'\"`?", "\n\t\r\a\b\f\v\\'\"`?", strict=True))
_HEX_ESCAPES = {"x": 2, "X": 2, "u": 4, "U": 8}


class Token(NamedTuple):
    """`kind` is op, name, quoted (a field in backquotes) or literal, whose `value` is what it stands for."""

    kind: str
    text: str
    value: Any = None


def tokenize(text: str) -> list[Token]:
    tokens: list[Token] = []
    at, end = 0, len(text)
    while at < end:
        char = text[at]
        if char in _SPACE:
            at += 1
        elif text.startswith("//", at):
            newline = text.find("\n", at)
            at = end if newline < 0 else newline + 1
        else:
            token, at = _token(text, at)
            tokens.append(token)
    return tokens


def _token(text: str, at: int) -> tuple[Token, int]:
    char = text[at]
    if (opening := _opening(text, at)) >= 0:
        return _string(text, at, opening)
    if char in _LETTERS:
        stop = _run(text, at, _LETTERS | _DIGITS)
        return Token("name", text[at:stop]), stop
    if char in _DIGITS or (char == "." and text[at + 1 : at + 2] in _DIGITS):
        return _number(text, at)
    if char == "`":
        stop = text.find("`", at + 1)
        if stop > at + 1 and "\n" not in text[at:stop]:
            return Token("quoted", text[at + 1 : stop]), stop + 1
    if text[at : at + 2] in _PAIRS:
        return Token("op", text[at : at + 2]), at + 2
    if char in _SINGLES:
        return Token("op", char), at + 1
    raise SyntaxProblem(f"token recognition error at: {char!r}")


def _run(text: str, at: int, members: frozenset[str]) -> int:
    while at < len(text) and text[at] in members:
        at += 1
    return at


def _number(text: str, at: int) -> tuple[Token, int]:
    if text.startswith(("0x", "0X"), at):
        stop = _run(text, at + 2, _HEX)
        return _integer(text, at, stop, base=16)
    stop = _run(text, at, _DIGITS)
    real = False
    if text[stop : stop + 1] == "." and text[stop + 1 : stop + 2] in _DIGITS:
        stop, real = _run(text, stop + 1, _DIGITS), True
    if text[stop : stop + 1] in ("e", "E"):
        sign = stop + 1 + (text[stop + 1 : stop + 2] in ("+", "-"))
        if (exponent := _run(text, sign, _DIGITS)) > sign:
            stop, real = exponent, True
    if real:
        return Token("literal", text[at:stop], float(text[at:stop])), stop
    return _integer(text, at, stop, base=10)


def _integer(text: str, at: int, stop: int, base: int) -> tuple[Token, int]:
    digits = text[at:stop]
    unsigned = text[stop : stop + 1] in ("u", "U")
    if len(digits) > 40:
        raise SyntaxProblem("invalid int literal: more than 64 bits")
    try:
        value = int(digits, base)
    except ValueError:
        raise SyntaxProblem(f"invalid int literal: {digits}") from None
    # One more than the largest: `-9223372036854775808` is this literal behind a minus.
    if value > (UINT_MAX if unsigned else INT_MAX + 1):
        raise SyntaxProblem(f"invalid {'uint' if unsigned else 'int'} literal: {digits} has more than 64 bits")
    return Token("literal", digits, UInt(value) if unsigned else value), stop + unsigned


def _opening(text: str, at: int) -> int:
    """Where the quote of a string stands that starts here, after its prefixes; -1 if none does."""
    quote = at
    while quote < at + 2 and text[quote : quote + 1] in _PREFIXES:
        quote += 1
    return quote if text[quote : quote + 1] in ("'", '"') else -1


def _string(text: str, at: int, opening: int) -> tuple[Token, int]:
    prefix = text[at:opening].lower()
    quote = text[opening]
    triple = text.startswith(quote * 3, opening)
    mark = quote * 3 if triple else quote
    unescape = _octets if "b" in prefix else _characters
    body, stop = _body(text, opening + len(mark), mark, None if "r" in prefix else unescape)
    value: Any = body if "b" in prefix else body.decode("utf-8", "surrogatepass")
    return Token("literal", text[at:stop], value), stop


def _body(text: str, at: int, mark: str, unescape: Callable[[str, int], bytes] | None) -> tuple[bytes, int]:
    """What is written up to the closing mark, in UTF-8, and where the text goes on. None leaves escapes as they are."""
    pieces: list[bytes] = []
    while at < len(text):
        char = text[at]
        if text.startswith(mark, at):
            return b"".join(pieces), at + len(mark)
        if char == "\n" and len(mark) == 1:
            break
        if char == "\\" and unescape is not None:
            kind, number, at = _escape(text, at + 1)
            pieces.append(unescape(kind, number))
        else:
            width = 2 if char == "\\" else 1
            pieces.append(text[at : at + width].encode("utf-8", "surrogatepass"))
            at += width
    raise SyntaxProblem(f"token recognition error: a text that starts with {mark} does not end")


def _characters(_: str, number: int) -> bytes:
    """In a text an escape is a code point."""
    return chr(number).encode("utf-8", "surrogatepass")


def _octets(kind: str, number: int) -> bytes:
    """In bytes an escape is an octet, and code points (`\\u`, `\\U`) are not allowed."""
    if kind in ("u", "U"):
        raise SyntaxProblem(f"unable to unescape '\\{kind}': in bytes an escape is an octet, as in '\\xff'")
    return bytes((number,))


def _escape(text: str, at: int) -> tuple[str, int, int]:
    """The character behind the backslash, the number that the escape stands for, and where the text goes on."""
    char = text[at : at + 1]
    if char in _ESCAPES:
        return char, ord(_ESCAPES[char]), at + 1
    length = _HEX_ESCAPES.get(char, 0)
    digits, base = (text[at + 1 : at + 1 + length], 16) if length else (text[at : at + 3], 8)
    members = _HEX if length else _OCTAL
    if len(digits) == (length or 3) and all(digit in members for digit in digits):
        number = int(digits, base)
        if number <= (sys.maxunicode if length else 0xFF):
            return char, number, at + (length + 1 if length else 3)
    raise SyntaxProblem(f"unable to unescape '\\{char}'")
