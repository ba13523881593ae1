"""Texts of the product are plain technical English: no metaphors of speech, houses or people (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.sources import modules

AVOIDED = {
    r"nobody|somebody|everybody|whoever|anybody's": "name the party: a client, another writer, no endpoint",
    r"(un-?)?said|says? (so|nothing|which)|told|in the words of": "reported, published, set; the error of …",
    r"in vain": "failed, refused",
    r"comes? again": "is requeued, is retried",
    r"of the past": "stale",
    r"wakes? (nobody|who)": "requeues, enqueues",
    r"strangers?|rivals?|twins?|culprits?|guilty|to blame": "foreign, competing controller, fake, cause",
    r"doors?|rooms?|the outside": "listener, module, remote systems",
    r"let(s|ting)? go|goes? with (it|them|him)": "released, deleted with it",
    r"for ever|no more\b": "without end, not … any more",
    r"taken for|believed|heard|silently": "counts as, trusted, received, without a message",
}
ALLOWED = {
    # identifiers in texts, and messages that are changed together with their tests
    "seamark/families/dns/ledger.py": ("`told`",),
    "seamark/families/dns/registry.py": ("`strangers`",),
    "seamark/families/dns/work.py": ("changed by somebody else",),
    "seamark/families/loadbalancer/sight.py": ("nobody is known to hold",),
    "seamark/families/score/runtime/names.py": ("`said`",),
    "seamark/providers/edge/memory.py": ("`said`",),
    "seamark/providers/edge/rest.py": ("`Door`",),
    "seamark_edge/agent/link.py": ("`heard`",),
}
PATTERN = re.compile(r"\b(?:" + "|".join(AVOIDED) + r")\b", re.IGNORECASE)


def texts(path: Path) -> Iterator[str]:
    """Docstrings and comments, paragraph by paragraph."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from re.split(r"\n\s*(?:-\s|\n)", ast.get_docstring(node) or "")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def avoided(name: str, text: str) -> str:
    """The first avoided word of a text; empty if there is none."""
    if any(part in text for part in ALLOWED.get(name, ())):
        return ""
    match = PATTERN.search(text)
    return match.group() if match else ""


def test_docstrings_and_comments_use_the_words_of_the_field() -> None:
    found = {
        f"{name}: {word!r} in {' '.join(text.split())[:100]}"
        for name, path in modules()
        for text in texts(path)
        if (word := avoided(name, text))
    }
    assert found == set(), "\n".join([*sorted(found), *(f"{words}: {instead}" for words, instead in AVOIDED.items())])


def test_an_avoided_word_is_found() -> None:
    assert avoided("x.py", "A change of it wakes nobody.") == "wakes nobody"
    assert avoided("x.py", "The request is requeued when another writer changes it.") == ""
