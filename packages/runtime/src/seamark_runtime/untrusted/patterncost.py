"""What a regular expression costs to compile, from its syntax alone: to be asked before anything is compiled.

- The cost is about the number of instructions of the compiled form, and never less: repetition counts multiply
  (`(a{9}){9}` has 81 copies of `a`), so a few characters can ask for a large program.
- It is at least the length of the expression, and takes time linear in it. What is no valid expression has a cost too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

MOST = 1_000_000_000  # the highest cost that is counted
EACH = 8  # of an expression, whatever it has in it
_BOUND = 1001  # a higher count of repetitions is no valid expression
_NAMED = {"d": 1, "D": 2, "s": 3, "S": 4, "w": 4, "W": 5, "h": 4, "v": 2}  # ranges of a class with a name


@dataclass(slots=True)
class _Group:
    """`done` is the cost of what is complete; `last` that of what a repetition would repeat."""

    done: int = 2
    last: int = 0

    def add(self, cost: int) -> None:
        self.done, self.last = min(MOST, self.done + self.last), cost


@lru_cache(maxsize=8192)
def cost(expression: str, *, unicode: bool = False, ignore_case: bool = False) -> int:
    """`unicode`: it is compiled for characters, not for bytes; classes are much larger then."""
    return max(len(expression), EACH + _Reader(expression, unicode=unicode, ignore_case=ignore_case).read())


class _Reader:
    """Reads an expression once, from its beginning to its end."""

    def __init__(self, expression: str, *, unicode: bool, ignore_case: bool) -> None:
        self._text = expression
        self._at = 0
        self._unicode = unicode
        self._folding = ignore_case

    def read(self) -> int:
        groups = [_Group()]
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            group = groups[-1]
            if char == "(":
                if self._opens():
                    groups.append(_Group())
            elif char == ")" and len(groups) > 1:
                inner = groups.pop()
                groups[-1].add(min(MOST, inner.done + inner.last))
            elif char == "|":
                group.add(0)
                group.done += 2
            elif char in "*+?":
                group.last += 2
            elif char == "{":
                self._repeat(group)
            else:
                group.add(self._atom(char))
        return min(MOST, sum(group.done + group.last for group in groups))

    def _opens(self) -> bool:
        """After a bracket: whether it opens a group. `(?i)` does not, and what follows repeats what is before it.

        From where letters count in both cases on, they do so to the end.
        """
        if self._text[self._at : self._at + 1] != "?":
            return True
        self._at += 1
        end = self._at
        while self._text[end : end + 1].isalpha() or self._text[end : end + 1] == "-":
            end += 1
        self._folding = self._folding or "i" in self._text[self._at : end]
        if self._text[end : end + 1] != ")":
            return True
        self._at = end + 1
        return False

    def _repeat(self, group: _Group) -> None:
        end = self._text.find("}", self._at, self._at + 16)
        least, comma, most = self._text[self._at : end].partition(",") if end >= 0 else ("", "", "")
        if not (least.isascii() and least.isdigit() and (not most or (most.isascii() and most.isdigit()))):
            group.add(1)  # a brace by itself
            return
        self._at = end + 1
        high = int(most or least) + (1 if comma and not most else 0)
        copies = max(1, int(least), min(high, _BOUND))
        group.last = min(MOST, (group.last + 1) * min(copies, _BOUND) + 1)

    # ---- single characters and classes

    def _atom(self, char: str) -> int:
        if char == "[":
            return self._class()
        if char == ".":
            return self._ranges(2, wide=True)
        if char == "\\":
            return self._escaped()
        if char.isascii():
            return 4 if self._unicode and self._folding else 1
        return self._ranges(2, wide=True)

    def _escaped(self) -> int:
        char = self._text[self._at : self._at + 1]
        self._at += 1
        if char in _NAMED:
            return self._ranges(_NAMED[char], wide=char.isupper())
        if char in ("p", "P"):
            return self._property()
        return self._ranges(2, wide=True)

    def _property(self) -> int:
        """A class of Unicode, by its name: hundreds of ranges, which have to be read even where bytes are matched."""
        if self._text[self._at : self._at + 1] == "{":
            end = self._text.find("}", self._at, self._at + 64)
            self._at = end + 1 if end >= 0 else self._at
        else:
            self._at += 1
        return 2500 if self._unicode else 100

    def _class(self) -> int:
        """A class costs by its ranges; one that is not closed goes on to the end."""
        start, found = self._at, 0
        if self._text[self._at : self._at + 1] == "^":
            self._at += 1
            found = 1
        first = True
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            if char == "]" and not first:
                break
            first = False
            found += self._item(char)
        inside = self._text[start : self._at]
        return self._ranges(found, wide=not inside.isascii() or "^" in inside or "\\" in inside)

    def _item(self, char: str) -> int:
        """The ranges of one item of a class."""
        if char == "[" and self._text[self._at : self._at + 1] == ":":
            end = self._text.find(":]", self._at, self._at + 16)
            self._at = end + 2 if end >= 0 else self._at
            return 5
        ranges = 1
        if char == "\\":
            escaped = self._text[self._at : self._at + 1]
            self._at += 1
            if escaped in ("p", "P"):
                return self._property()
            ranges = _NAMED.get(escaped, 1)
        if self._text[self._at : self._at + 1] == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
            self._at += 2
            if self._text[self._at - 1] == "\\":
                self._at += 1
        return ranges

    def _ranges(self, count: int, *, wide: bool) -> int:
        """Two instructions for each range of bytes; a range of characters beyond ASCII has several of bytes."""
        both = 2 if self._folding else 1
        return max(1, 2 * count * both - 1) * (6 if self._unicode and (wide or self._folding) else 1)
