"""Names, labels and keys: their syntax, and the message for a violation."""

from __future__ import annotations

import re
from collections.abc import Callable

NameCheck = Callable[[str], list[str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + "(\\." + _LABEL + ")*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"

_CHARACTERS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
LABEL_MESSAGE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
SUBDOMAIN_MESSAGE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
LABEL_1035_MESSAGE = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
LABEL_VALUE_MESSAGE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
CONFIG_KEY_MESSAGE = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"


def _matching(pattern: str, description: str, examples: tuple[str, ...], limit: int) -> NameCheck:
    compiled = re.compile(f"(?:{pattern})\\Z")
    shown = "',  or '".join(examples)
    message = f"{description} (e.g. '{shown}', regex used for validation is '{pattern}')"

    def check(text: str) -> list[str]:
        problems = []
        if len(text) > limit:
            problems.append(f"must be no more than {limit} bytes")
        if not compiled.match(text):
            problems.append(message)
        return problems

    return check


subdomain = _matching(_SUBDOMAIN, SUBDOMAIN_MESSAGE, ("example.com",), 253)
label_1035 = _matching(_LABEL_1035, LABEL_1035_MESSAGE, ("my-name", "abc-123"), 63)
label_value = _matching(_LABEL_VALUE, LABEL_VALUE_MESSAGE, ("MyValue", "my_value", "12345"), 63)
_name_part = _matching(_QUALIFIED, f"name part {_CHARACTERS}", ("MyName", "my.name", "123-abc"), 63)
_config_key = _matching(_CONFIG_KEY, CONFIG_KEY_MESSAGE, ("key.name", "KEY_NAME", "key-name"), 253)
_label = _matching(_LABEL, LABEL_MESSAGE, ("my-name", "123-abc"), 63)


def label(text: str) -> list[str]:
    problems = _label(text)
    if problems and re.compile(_SUBDOMAIN + "\\Z").match(text) and "." in text:
        return [problem for problem in problems if problem.startswith("must be no more")] + ["must not contain dots"]
    return problems


def path_segment(text: str) -> list[str]:
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{illegal}'" for illegal in "/%" if illegal in text]


def config_key(text: str) -> list[str]:
    problems = _config_key(text)
    if text == ".":
        problems.append("must not be '.'")
    elif text == "..":
        problems.append("must not be '..'")
    elif text.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def qualified(text: str) -> list[str]:
    """A label key or a finalizer: an optional prefix, a slash, a name."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_CHARACTERS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation "
            f"is '{_QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash:
        if not prefix:
            problems.append("prefix part must be non-empty")
        else:
            problems += [f"prefix part {problem}" for problem in subdomain(prefix)]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    return problems + [item for item in _name_part(name) if not item.startswith("must be no more")]
