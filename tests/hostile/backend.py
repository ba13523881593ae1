"""What stands in for Pods and the cluster's DNS: small HTTP servers, and answers for the names of their Services.

python -m tests.hostile.backend RESOLVER=NAME=ADDRESS,... ADDRESS:PORT:TEXT ...
"""

from __future__ import annotations

import socketserver
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import dns.flags
import dns.message
import dns.rcode
import dns.rrset


def answering(text: str) -> type[BaseHTTPRequestHandler]:
    """Answers every request with its text."""
    body = f"backend-of-{text}\n".encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name of the base class
            """Its content is not used."""

    return Handler


def resolving(names: Mapping[str, str]) -> type[socketserver.BaseRequestHandler]:
    """Answers for the names it has; NXDOMAIN for all others."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data, out = self.request
            question = dns.message.from_wire(data)
            response = dns.message.make_response(question)
            response.flags |= dns.flags.AA
            asked = question.question[0]
            address = names.get(asked.name.to_text(omit_final_dot=True).lower())
            if address is None:
                response.set_rcode(dns.rcode.NXDOMAIN)
            elif asked.rdtype == dns.rdatatype.A:
                response.answer.append(dns.rrset.from_text(asked.name, 5, "IN", "A", address))
            out.sendto(response.to_wire(), self.client_address)

    return Handler


def main(resolver: str, places: list[str]) -> None:
    where, _, table = resolver.partition("=")
    host, _, port = where.partition(":")
    names = dict(entry.split("=") for entry in table.split(","))
    servers: list[socketserver.BaseServer] = [socketserver.ThreadingUDPServer((host, int(port)), resolving(names))]
    for place in places:
        address, port, text = place.split(":")
        servers.append(ThreadingHTTPServer((address, int(port)), answering(text)))
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
