"""What clients see: curl, dig, openssl and plain sockets, from outside and from a Pod's network."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

TIMEOUT = 4.0  # seconds that a client waits
STILL_OPEN = 28  # curl's exit code when the time is over


@dataclass(frozen=True)
class Answer:
    """One attempt. `began` and `ended` are monotonic times."""

    good: bool
    detail: str
    began: float
    ended: float


def attempt(command: Sequence[str]) -> tuple[int, str, float, float]:
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIMEOUT + 4, stdin=subprocess.DEVNULL
        )
        code, text = done.returncode, done.stdout or done.stderr
    except subprocess.TimeoutExpired:
        code, text = -1, "no response"
    return code, text, began, time.monotonic()


@dataclass(frozen=True)
class Clients:
    """Where clients run: `outside` and `pod` are what to put in front of a command."""

    outside: tuple[str, ...]
    pod: tuple[str, ...]

    def curl(self, url: str, *options: str, pod: bool = False, good: Sequence[str] = ("200",)) -> Answer:
        """Good: a response with one of these codes ("" for any)."""
        form = ["--write-out", "%{http_code} %{errormsg}", "--output", "/dev/null", "--max-time", f"{TIMEOUT:g}"]
        where = self.pod if pod else self.outside
        code, text, began, ended = attempt([*where, "curl", "--silent", *form, *options, url])
        status, _, error = text.strip().partition(" ")
        fine = code == 0 and (status in good or "" in good)
        return Answer(fine, f"curl {url}: {error or 'HTTP ' + status}", began, ended)

    def code(self, url: str, *options: str, bad: Sequence[str]) -> Answer | None:
        """Good: a response with any code but these. None: there was no response, which is about something else."""
        form = ["--write-out", "%{http_code}", "--output", "/dev/null", "--max-time", f"{TIMEOUT:g}"]
        _, text, began, ended = attempt([*self.outside, "curl", "--silent", *form, *options, url])
        code = text.strip()
        return None if code in {"", "000"} else Answer(code not in bad, f"curl {url}: HTTP {code}", began, ended)

    def header(self, url: str, *options: str, name: str, value: str) -> Answer | None:
        """Good: a response with the code 200 and this header. None: there was no such code."""
        form = [
            "--write-out",
            f"%{{http_code}} %header{{{name}}}",
            "--output",
            "/dev/null",
            "--max-time",
            f"{TIMEOUT:g}",
        ]
        _, text, began, ended = attempt([*self.outside, "curl", "--silent", *form, *options, url])
        code, _, found = text.strip().partition(" ")
        return Answer(found == value, f"curl {url}: {name}: {found}", began, ended) if code == "200" else None

    def listed(self, url: str, key: str, wanted: str) -> Answer:
        """Good: the response of the edge's API has this text."""
        headers = ["--header", f"Authorization: Bearer {key}", "--header", "Ngrok-Version: 2"]
        command = [*self.outside, "curl", "--silent", "--max-time", f"{TIMEOUT:g}", *headers, url]
        code, text, began, ended = attempt(command)
        return Answer(code == 0 and f'"{wanted}"' in text, f"curl {url}: without {wanted}", began, ended)

    def connects(self, host: str, port: int) -> Answer:
        """Good: a connection from a Pod is accepted, and still open in the end: a proxy in between closes it."""
        form = ["--write-out", "%{time_connect}", "--max-time", f"{TIMEOUT:g}"]
        code, text, began, ended = attempt([*self.pod, "curl", "--silent", *form, f"telnet://{host}:{port}"])
        connected = text.strip() not in {"", "0.000000"}
        detail = f"connection {'accepted' if connected else 'not accepted'}, curl ends with {code}"
        return Answer(connected and code == STILL_OPEN, f"{host}:{port}: {detail}", began, ended)

    def dig(self, server: str, name: str, type_: str, targets: Sequence[str]) -> Answer:
        """Good: NOERROR, and exactly these targets in the answer section."""
        options = ["+tries=1", f"+time={TIMEOUT:g}", "+norecurse", "+noall", "+comments", "+answer"]
        code, text, began, ended = attempt([*self.outside, "dig", f"@{server}", name, type_, *options])
        status = text.partition("status: ")[2].partition(",")[0] or "no response"
        lines = [line.split() for line in text.splitlines() if line and not line.startswith(";")]
        found = sorted(words[4].rstrip(".") for words in lines if len(words) >= 5 and words[3] == type_)
        fine = code == 0 and status == "NOERROR" and found == sorted(target.rstrip(".") for target in targets)
        return Answer(fine, f"dig @{server} {name} {type_}: {status} {' '.join(found)}".strip(), began, ended)

    def openssl(self, host: str, port: int, name: str, authority: str = "") -> Answer:
        """Good: a TLS handshake; with an authority, also one whose certificate is verified for this name."""
        options = ["-servername", name]
        if authority:
            options += ["-verify_hostname", name, "-CAfile", authority, "-verify_return_error"]
        limit = ["timeout", f"{TIMEOUT:g}"]
        command = [*self.outside, *limit, "openssl", "s_client", "-brief", "-connect", f"{host}:{port}", *options]
        code, text, began, ended = attempt(command)
        lines = [line for line in text.splitlines() if "error" in line.lower()]
        detail = "handshake" if code == 0 else (lines[0] if lines else "no response")
        return Answer(code == 0, f"openssl s_client {name} at {host}:{port}: {detail}", began, ended)


def plain_http(host: str, port: int, name: str) -> Answer:
    """An HTTP request by a plain socket, from the node. Good: a response with the code 200."""
    began, status = time.monotonic(), "no response"
    try:
        with socket.create_connection((host, port), TIMEOUT) as connection:
            connection.settimeout(TIMEOUT)
            connection.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
            first = connection.recv(4096).split(b"\r\n")[0].decode(errors="replace")
            status = first or "closed without a response"
    except OSError as error:
        status = str(error) or type(error).__name__
    return Answer(" 200 " in f"{status} ", f"socket {host}:{port}: {status}", began, time.monotonic())
