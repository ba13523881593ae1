"""The programs by name."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence

from seamark_cluster.programs import demos, echoes, files, postgres
from seamark_cluster.programs.http import Site, serve

Program = Callable[[Sequence[str], Mapping[str, str]], Sequence[Site]]

PROGRAMS: Mapping[str, Program] = {
    "podinfo": demos.podinfo,
    "whoami": demos.whoami,
    "http-echo": echoes.http_echo,
    "http-https-echo": echoes.http_https_echo,
    "nginx": files.nginx,
    "httpd": files.httpd,
}

POSTGRES = "postgres"  # a server of this machine


def main(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] not in (*PROGRAMS, POSTGRES):
        sys.stderr.write(f"usage: start.py {{{','.join((*PROGRAMS, POSTGRES))}}} ARGS\n")
        return 2
    signal.signal(signal.SIGTERM, lambda _number, _frame: os._exit(0))
    name, *rest = arguments
    if name == POSTGRES:
        return postgres.run(rest, os.environ)
    serve(PROGRAMS[name](rest, os.environ), os.environ.get("POD_IP", ""))
    return 0
