"""Outside input is decoded, matched and unpacked in one place: `seamark_runtime/untrusted`, with limits.

Found in the syntax trees of all that runs in a cluster, so that a new decoder anywhere is noticed. What is listed as
allowed reads something that no tenant, client or remote party has written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources import modules

PRODUCT = ("seamark", "seamark_edge", "seamark_runtime")
BOUNDARY = "seamark_runtime/untrusted/"

DECODERS = {
    "json": ("load", "loads", "JSONDecoder"),
    "msgspec": ("json.decode", "json.Decoder", "msgpack.decode", "msgpack.Decoder", "yaml.decode", "toml.decode"),
    "yaml": (
        *("load", "load_all", "safe_load", "safe_load_all", "full_load", "full_load_all", "unsafe_load"),
        *("unsafe_load_all", "parse", "scan", "compose", "compose_all", "Loader", "SafeLoader", "CSafeLoader"),
    ),
    "ast": ("literal_eval", "parse"),
    "zlib": ("decompress",),
    "gzip": ("decompress", "open", "GzipFile"),
}
# Whole modules: decoders without limits, and engines that backtrack.
MODULES = (
    *("re", "sre_compile", "fnmatch", "re2", "pickle", "marshal", "shelve", "plistlib", "tomllib", "configparser"),
    *("xml", "bz2", "lzma", "tarfile", "zipfile"),
)
BUILTINS = ("eval", "exec", "compile")
METHODS = ("json", "text")  # of a request or a response: decoded whole, whatever it is

ALLOWED = {
    "seamark/cli/bundle.py": {"tarfile"},  # it writes one
    "seamark/explain/meanings.py": {"msgspec.json.decode"},  # a file of this package
    "seamark/gatewayapi/bundle.py": {"zipfile", "yaml.load_all", "yaml.SafeLoader"},  # an archive with a known checksum
    "seamark_runtime/api/schema.py": {"msgspec.json.decode"},  # what was encoded in the same line
}


def names(node: ast.expr) -> str:
    """`a.b.c` as text; empty for anything else."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=name):
            before = names(value)
            return f"{before}.{name}" if before else ""
    return ""


def aliases(tree: ast.Module) -> dict[str, str]:
    """What a name of a module stands for: `import json as j` makes `j` json, `from json import loads` json.loads."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def decoders(source: str) -> set[str]:
    """What a module uses of what is forbidden."""
    tree = ast.parse(source)
    known = aliases(tree)
    found = {name for name in imported(tree) if name in MODULES}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            head, dot, rest = names(node).partition(".")
            whole = f"{known[head]}{dot}{rest}" if head in known else ""
            module, _, used = whole.partition(".")
            if used in DECODERS.get(module, ()):
                found.add(whole)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
                found.add(node.func.id)
            if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS and not node.args:
                found.add(f".{node.func.attr}()")
        if isinstance(node, ast.Constant) and node.value in MODULES and _imports_by_name(tree, node):
            found.add(str(node.value))
    return found


def _imports_by_name(tree: ast.Module, text: ast.Constant) -> bool:
    return any(
        isinstance(node, ast.Call)
        and text in node.args
        and names(node.func).rpartition(".")[2] in ("import_module", "__import__")
        for node in ast.walk(tree)
    )


FILES = [(name, path) for name, path in modules(*PRODUCT) if not name.startswith(BOUNDARY)]


def test_nothing_decodes_beside_the_boundary() -> None:
    found = {name: used for name, path in FILES if (used := decoders(path.read_text()) - ALLOWED.get(name, set()))}
    assert found == {}, "decode with seamark_runtime.untrusted: decode_json, decode_plain_json, decode_yaml, Pattern"


def test_what_is_allowed_is_needed() -> None:
    paths: dict[str, Path] = dict(FILES)
    assert {name: decoders(paths[name].read_text()) for name in ALLOWED} == ALLOWED


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import json\njson.loads(body)", {"json.loads"}),
        ("import json as j\nj.load(file)", {"json.load"}),
        ("from json import loads as read\nread(body)", {"json.loads"}),
        ("import msgspec\nread = msgspec.json.decode", {"msgspec.json.decode"}),
        ("from msgspec import json\njson.Decoder(dict)", {"msgspec.json.Decoder"}),
        ("from msgspec.json import decode\ndecode(body)", {"msgspec.json.decode"}),
        ("import yaml\nyaml.safe_load(text)", {"yaml.safe_load"}),
        ("def late():\n    import re\n    re.match('a', text)", {"re"}),
        ("import importlib\nimportlib.import_module('re')", {"re"}),
        ("from fnmatch import fnmatch", {"fnmatch"}),
        ("async def handle(request):\n    return await request.json()", {".json()"}),
        ("eval(text)", {"eval"}),
        ("import json\njson.dumps(body)\n'a,b'.split(',')", set()),
        ("import msgspec\nmsgspec.json.encode(body)\nmsgspec.convert(value, int)", set()),
    ],
)
def test_a_decoder_is_found_however_it_is_called(source: str, found: set[str]) -> None:
    assert decoders(source) == found
