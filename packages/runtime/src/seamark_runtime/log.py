"""Structured logs: one event per line, for people on a terminal and as JSON elsewhere. Secrets are never written.

- A value with the name of a secret is replaced, and so is anything in a text that looks like one.
- The level can be changed while the program runs.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from typing import Any, TextIO

import structlog

from seamark_runtime.redaction import HIDDEN, SECRET_NAMES, redact

LONGEST_VALUE = 65_536  # characters of one value in a log line
RENDERED_BY_STRUCTLOG = ("exc_info", "stack_info")  # turned into text later, and redacted then


def _redacted(_logger: Any, _method: str, event: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in event.items()}


def _value(name: str, value: Any) -> Any:
    if SECRET_NAMES.search(name) and value:
        return HIDDEN
    if name in RENDERED_BY_STRUCTLOG or value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {key: _value(str(key), inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_value("", inner) for inner in value]
    return redact(str(value), LONGEST_VALUE)


def configure(level: str = "info", *, out: TextIO | None = None) -> None:
    out = out or sys.stderr
    terminal = out.isatty()
    last: Any = structlog.dev.ConsoleRenderer() if terminal else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _redacted,
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number(level)),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,
    )


def number(level: str) -> int:
    return logging.getLevelNamesMapping()[level.upper()]
