"""All texts are plain technical English, without the words listed here (CONTRIBUTING.md).

Checked are docstrings, comments, messages and names in Python, names and comments of the console's page, and pages and
fragments in Markdown. Code in Markdown, and what a page quotes, does not count.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.sources import PACKAGES, ROOT, modules

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
AVOIDED_NAMES = {
    "told said untold spoken speaks say says tell tells heard words mood news": "message, reason, answer, published",
    "whoever nobody anybody": "name the party",
    "door doors chest lot lots": "listener, secrets, assignment",
    "wake woken waker": "notify, enqueue, event router",
    "fence fences": "write deadline; status policy",
    "rival rivals stranger strangers guilty blamed blame": "competing controller, foreign, cause",
    "verdict verdicts asked asks asker doomed twin": "result, decision, request, referrer, fake",
}
WHOLE_NAME = "one"  # avoided as a name, not as a part of one: a variable is named for what it holds
AVOIDED_PARTS = frozenset(part for parts in AVOIDED_NAMES for part in parts.split())
OF_KUBERNETES = "seamark_cluster/embedded/"  # messages of the embedded API server are those of the real one
PATTERN = re.compile(r"\b(?:" + "|".join(AVOIDED) + r")\b", re.IGNORECASE)


CONSOLE = PACKAGES["seamark"] / "console" / "page"
PAGES = sorted(
    path for pattern in ("*.md", "docs/**/*.md", "changes/*.md", "packages/*/README.md") for path in ROOT.glob(pattern)
)
OWN = "tests/unit/tools/test_language.py"
CODE = re.compile(r"`[^`]*`")
QUOTED = re.compile(r"```.*?```|`[^`]*`|\"[^\"]*\"|“[^”]*”", re.DOTALL)


def developers() -> Iterator[tuple[str, Path]]:
    """The Python files of the tests and tools."""
    for folder in ("tests", "tools"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path


def texts(path: Path) -> Iterator[str]:
    """Docstrings and comments, paragraph by paragraph."""
    source = path.read_text()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield from re.split(r"\n\s*(?:-\s|\n)", ast.get_docstring(node) or "")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def messages(path: Path) -> Iterator[str]:
    """Sentences in calls: messages of conditions and errors, log lines, help of commands and settings."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                parts = [part for part in ast.walk(argument) if isinstance(part, ast.Constant)]
                yield from (part.value for part in parts if isinstance(part.value, str) and " " in part.value.strip())


def avoided(text: str) -> str:
    """The first avoided word in a text; empty if there is none."""
    match = PATTERN.search(CODE.sub("", text))
    return match.group() if match else ""


def report(found: set[str], rules: dict[str, str]) -> str:
    return "\n".join([*sorted(found), *(f"{parts}: {instead}" for parts, instead in rules.items())])


def test_docstrings_and_comments_use_the_words_of_the_field() -> None:
    found = {
        f"{name}: {word!r} in {' '.join(text.split())[:100]}"
        for name, path in modules()
        for text in texts(path)
        if (word := avoided(text))
    }
    assert found == set(), report(found, AVOIDED)


def test_few_texts_of_tests_and_tools_use_other_words() -> None:
    written = [(name, text) for name, path in developers() if name != OWN for text in texts(path) if text]
    found = {f"{name}: {word!r} in {' '.join(text.split())[:100]}" for name, text in written if (word := avoided(text))}
    assert len(found) <= 0.01 * len(written), report(found, AVOIDED)


def test_messages_use_the_words_of_the_field() -> None:
    found = {
        f"{name}: {word!r} in {' '.join(text.split())[:100]}"
        for name, path in modules()
        if not name.startswith(OF_KUBERNETES)
        for text in messages(path)
        if "has(" not in text and (word := avoided(text))  # an expression has names
    }
    assert found == set(), report(found, AVOIDED)


def test_few_lines_of_pages_use_other_words() -> None:
    """Some, for pages and fragments that are written at the same time as the list of words changes."""
    lines = [(path.name, line) for path in PAGES for line in QUOTED.sub("", path.read_text()).splitlines()]
    found = {f"{name}: {word!r} in {line.strip()[:120]}" for name, line in lines if (word := avoided(line))}
    assert len(found) <= 0.001 * len(lines), report(found, AVOIDED)


def test_the_console_uses_the_words_of_the_field() -> None:
    for path in sorted(CONSOLE.glob("*.*")):
        text = path.read_text()
        found = {f"{word!r} in {line.strip()[:100]}" for line in text.splitlines() if (word := avoided(line))}
        code = re.sub(r'//.*|"[^"]*"', "", text) if path.suffix in (".js", ".css") else ""
        names = set(re.findall(r"[A-Za-z_]\w*", code))
        found |= {name for name in names - {"words"} if is_avoided(name)}  # `words` is a field of its API
        assert found == set(), report(found, AVOIDED | AVOIDED_NAMES)


def test_an_avoided_word_is_found() -> None:
    assert avoided("A change of it wakes nobody.") == "wakes nobody"
    assert avoided("The request is requeued when another writer changes it.") == ""


def identifiers(path: Path) -> Iterator[str]:
    """Every name of a module's own: variables, arguments, attributes, functions and classes."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name


def is_avoided(name: str) -> bool:
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).strip("_").lower().split("_")
    return parts == [WHOLE_NAME] or not AVOIDED_PARTS.isdisjoint(parts)


def test_identifiers_use_the_words_of_the_field() -> None:
    found = {
        f"{name}: {identifier}"
        for name, path in modules()
        for identifier in identifiers(path)
        if is_avoided(identifier)
    }
    assert found == set(), "\n".join(
        [*sorted(found), *(f"{parts}: {instead}" for parts, instead in AVOIDED_NAMES.items())]
    )


def test_an_avoided_identifier_is_found() -> None:
    assert all(map(is_avoided, ("_told", "http_words", "NobodyHome", "one")))
    assert not any(map(is_avoided, ("one_of", "password")))
