"""The official REST client at its ordinary work. Runs in an environment that holds only that; prints what it saw."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ngrok  # type: ignore[import-not-found]  # installed in an environment of its own


def refused(call: Any) -> list[Any]:
    try:
        call()
    except ngrok.NotFoundError as error:
        return ["not found", error.http_status_code, error.error_code]
    except ngrok.Error as error:
        return ["error", error.http_status_code, error.error_code]
    return ["nothing"]


def addresses(client: Any) -> dict[str, Any]:
    made = [client.reserved_addrs.create(description=f"number {n}", metadata="of the test") for n in range(5)]
    client.reserved_addrs.update(made[0].id, description="changed")
    first_page = client.reserved_addrs.list(limit="2")
    seen = {
        "addrs": [item.addr for item in made],
        "paged": [item.id for item in first_page][:5],
        "made": [item.id for item in made],
        "changed": client.reserved_addrs.get(made[0].id).description,
        "chosen": [item.id for item in client.reserved_addrs.list(limit="1", filter='obj.description == "number 3"')],
        "chosen_over_pages": [
            item.id for item in client.reserved_addrs.list(limit="1", filter="obj.description.startsWith('number')")
        ],
        "no_filter": refused(lambda: client.reserved_addrs.list(filter="obj.nothing ==")),
        "no_field": refused(lambda: client.reserved_addrs.list(filter="obj.nothing == 1")),
        "kept": client.reserved_addrs.get(made[0].id).metadata,
        "uri": client.reserved_addrs.get(made[0].id).uri,
    }
    for item in made:
        client.reserved_addrs.delete(item.id)
    seen["gone"] = refused(lambda: client.reserved_addrs.get(made[0].id))
    return seen


def domains(client: Any, pair: tuple[str, str]) -> dict[str, Any]:
    certificate = client.tls_certificates.create(certificate_pem=pair[0], private_key_pem=pair[1], description="mine")
    custom = client.reserved_domains.create(domain="app.example.com", certificate_id=certificate.id)
    own = client.reserved_domains.create(domain="mine.edge.localhost")
    seen = {
        "cname": custom.cname_target,
        "own_cname": own.cname_target,
        "certificate": custom.certificate.id == certificate.id,
        "subject": certificate.subject_common_name,
        "names": certificate.subject_alternative_names.dns_names,
        "taken": refused(lambda: client.reserved_domains.create(domain="app.example.com")),
        "in_use": refused(lambda: client.tls_certificates.delete(certificate.id)),
        "managed": own.certificate_management_policy,
    }
    client.reserved_domains.delete_certificate(custom.id)
    seen["detached"] = client.reserved_domains.get(custom.id).certificate
    client.tls_certificates.delete(certificate.id)
    for item in (custom, own):
        client.reserved_domains.delete(item.id)
    return seen


def endpoints(client: Any) -> dict[str, Any]:
    address = client.reserved_addrs.create()
    url = f"tcp://{address.addr}"
    policy = '{"on_tcp_connect":[{"actions":[{"type":"deny"}]}]}'
    made = client.endpoints.create(url=url, type="cloud", traffic_policy=policy, description="closed")
    seen = {
        "at_its_address": made.tcp_addr.id == address.id,
        "type": made.type,
        "policy": made.traffic_policy == policy,
        "taken": refused(lambda: client.endpoints.create(url=url, type="cloud", traffic_policy="")),
        "bad": refused(
            lambda: client.endpoints.update(
                made.id, traffic_policy='{"on_tcp_connect":[{"actions":[{"type":"brew"}]}]}'
            )
        ),
        "changed": client.endpoints.update(made.id, description="still closed").description,
        "listed": made.id in [item.id for item in client.endpoints.list()],
    }
    client.endpoints.delete(made.id)
    seen["gone"] = refused(lambda: client.endpoints.get(made.id))
    return seen


def ranges(client: Any) -> dict[str, Any]:
    policy = client.ip_policies.create(description="office")
    rule = client.ip_policy_rules.create(cidr="192.0.2.7/24", ip_policy_id=policy.id, action="allow")
    seen = {
        "cidr": rule.cidr,
        "policy": rule.ip_policy.id == policy.id,
        "changed": client.ip_policy_rules.update(rule.id, cidr="198.51.100.0/24").cidr,
        "bad": refused(lambda: client.ip_policy_rules.create(cidr="x", ip_policy_id=policy.id, action="allow")),
    }
    client.ip_policies.delete(policy.id)
    seen["rule_gone"] = refused(lambda: client.ip_policy_rules.get(rule.id))
    return seen


def main() -> None:
    told = json.loads(sys.stdin.read())
    client = ngrok.Client(told["key"], told["url"])
    stranger = ngrok.Client("ak_nobody", told["url"])
    pair = (Path(told["certificate"]).read_text(), Path(told["private_key"]).read_text())
    key = client.api_keys.create(description="second")
    credential = client.credentials.create(description="an agent", acl=["bind:*.edge.localhost"])
    seen = {
        "addresses": addresses(client),
        "domains": domains(client, pair),
        "endpoints": endpoints(client),
        "ranges": ranges(client),
        "stranger": refused(stranger.reserved_addrs.list),
        "new_key": bool(key.token) and ngrok.Client(key.token, told["url"]).api_keys.get(key.id).token,
        "credential": [credential.acl, bool(credential.token), client.credentials.get(credential.id).token],
        "sessions": len(list(client.tunnel_sessions.list())),
    }
    client.api_keys.delete(key.id)
    client.credentials.delete(credential.id)
    sys.stdout.write(json.dumps(seen))


main()
