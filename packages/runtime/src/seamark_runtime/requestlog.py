"""Logs of HTTP servers: what a client does wrong is one line at debug level, an error of our own has its traceback.

aiohttp logs both in the same way, with a traceback on stderr. A client chooses how often it sends a bad request or goes
away in the middle of one, so that log would be the client's to fill.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import structlog
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web import RequestPayloadError

log = structlog.get_logger(__name__)

CLIENT_ERRORS = (ConnectionError, HttpProcessingError, RequestPayloadError)  # of a client that left, or sent no HTTP


def report_error(error: BaseException | None) -> None:
    log.error("internal error while answering an HTTP request", exc_info=error)


class RequestLog(logging.Logger):
    """The `logger` of an aiohttp server. `report` is called with every error that no client caused."""

    def __init__(self, report: Callable[[BaseException | None], None] = report_error) -> None:
        super().__init__("http")
        self._report = report

    def debug(self, msg: object, *args: object, **kwargs: Any) -> None:
        log.debug("HTTP request not answered", reason=_line(msg, args), error=_shown(kwargs.get("exc_info")))

    def exception(self, msg: object, *args: object, **kwargs: Any) -> None:
        error = kwargs.get("exc_info")
        error = error if isinstance(error, BaseException) else sys.exception()
        if isinstance(error, CLIENT_ERRORS):
            self.debug(msg, *args, exc_info=error)
        else:
            self._report(error)


def _line(msg: object, args: tuple[object, ...]) -> str:
    text = str(msg)
    return text % args if args else text


def _shown(error: object) -> str:
    """One short line: the library's messages quote what the client sent, over several lines."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:200] if isinstance(error, BaseException) else ""
