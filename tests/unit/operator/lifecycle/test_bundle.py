"""A bundle has what helps, and no secret."""

from __future__ import annotations

import asyncio
import io
import tarfile
from pathlib import Path
from typing import Any

import yaml

from seamark.cli.bundle import write
from seamark.families.dns.family import DNS_ENDPOINT
from seamark.families.loadbalancer.family import AGENT_ENDPOINT
from seamark.families.score.family import CRDS
from seamark.lifecycle.bundle import Bundle, cleaned
from seamark.lifecycle.definitions import install, marked
from seamark_runtime.transport import Answer
from tests.unit.operator.lifecycle.small_site import HOME, Site, at
from tests.unit.runtime.scripted import ScriptedTransport

CANARY = "c4n4ry-0123456789"


def container(**more: Any) -> dict[str, Any]:
    return {"name": "main", "image": "seamark:1", **more}


async def fill(site: Site) -> None:
    """A cluster in which the canary sits in every place where a secret may be."""
    await install(site.transport, marked([DNS_ENDPOINT, AGENT_ENDPOINT, *CRDS]))
    await site.make(f"/api/v1/namespaces/{HOME}/secrets", {"metadata": {"name": "s"}, "stringData": {"key": CANARY}})
    endpoint = {"dnsName": "www.example.com", "recordType": "A", "targets": ["192.0.2.1"]}
    notes = {"example.com/api-key": CANARY, "example.com/note": f"token={CANARY}", "example.com/kept": "hello"}
    notes |= {"example.com/yaml": f"db:\n  password: {CANARY}\n", "example.com/run": f"login --password {CANARY}"}
    await site.make(
        "/apis/externaldns.k8s.io/v1alpha1/namespaces/default/dnsendpoints",
        {
            "apiVersion": "externaldns.k8s.io/v1alpha1",
            "kind": "DNSEndpoint",
            "metadata": {"name": "www", "annotations": notes},
            "spec": {"endpoints": [endpoint]},
        },
    )
    await site.make(
        "/apis/score.dev/v1b1/namespaces/default/workloads",
        {
            "apiVersion": "score.dev/v1b1",
            "kind": "Workload",
            "metadata": {"name": "app"},
            "spec": {
                "containers": {
                    "main": {
                        "image": "nginx",
                        "variables": {"WORD": CANARY},
                        "files": [{"target": "/etc/a", "content": CANARY}],
                    }
                }
            },
        },
    )
    variables = [
        {"name": "SEAMARK_DNS_TSIG_SECRET", "value": CANARY},
        {"name": "SEAMARK_LB_API_KEY_FILE", "value": "/etc/seamark/edge/api-key"},
        {"name": "SEAMARK_WORKERS", "value": "64"},
        {"name": "GREETING", "value": CANARY},
    ]
    spec = {"containers": [container(env=variables, args=[f"--password={CANARY}", "--token", CANARY])]}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": spec}
    body = {"metadata": {"name": "seamark"}, "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template}}
    await site.make(f"/apis/apps/v1/namespaces/{HOME}/deployments", body)


def collected() -> dict[str, str]:
    async def program(site: Site) -> dict[str, str]:
        await fill(site)
        bundle = Bundle(site.transport, HOME)
        await bundle.collect()
        return bundle.files

    return at(program)


def test_a_canary_shows_nowhere() -> None:
    files = collected()
    assert not [name for name, text in files.items() if CANARY in text]


def test_what_helps_is_there() -> None:
    files = collected()
    assert {"versions.yaml", "definitions.yaml"} <= set(files)
    assert not [name for name in files if "secret" in name]
    (endpoint,) = yaml.safe_load(files["objects/dnsendpoints.externaldns.k8s.io.yaml"])
    assert endpoint["status"]["conditions"]
    assert endpoint["metadata"]["annotations"]["example.com/kept"] == "hello"
    assert endpoint["spec"]["endpoints"][0]["targets"] == ["192.0.2.1"]
    (deployment,) = yaml.safe_load(files["installation/deployments.apps.yaml"])
    env = {one["name"]: one["value"] for one in deployment["spec"]["template"]["spec"]["containers"][0]["env"]}
    assert env["SEAMARK_WORKERS"] == "64"
    assert env["SEAMARK_LB_API_KEY_FILE"] == "/etc/seamark/edge/api-key"


def test_names_of_secrets_stay_and_what_is_below_a_secret_name_goes() -> None:
    seen = {
        "secretName": "tls",
        "secretKeyRef": {"name": "s", "key": "k"},
        "credentials": {"user": CANARY, "more": [CANARY]},
        "upstream": f"https://me:{CANARY}@example.com",
        "managedFields": [{}],
    }
    found = cleaned(seen)
    assert found["secretName"] == "tls"
    assert found["secretKeyRef"] == {"name": "s", "key": "k"}
    assert CANARY not in str(found)
    assert "managedFields" not in found


def test_the_value_of_a_secret_flag_goes_and_other_arguments_stay() -> None:
    arguments = ["serve", "--token-file", "/run/token", "--password", CANARY, "--verbose", "--token", "--port", "80"]
    assert cleaned(arguments, "args") == [*arguments[:4], "[redacted]", *arguments[5:]]


def test_the_archive_is_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "bundle.tar.gz"
    write(path, {"versions.yaml": "seamark: 1\n", "logs/a/b.log": "hello\n"})
    assert path.stat().st_mode & 0o777 == 0o600
    with tarfile.open(fileobj=io.BytesIO(path.read_bytes())) as archive:
        assert archive.getnames() == ["bundle/logs/a/b.log", "bundle/versions.yaml"]


def test_an_object_that_can_not_be_read_is_named_and_the_others_are_there() -> None:
    deep = b'{"a":' * 1_200 + b"1" + b"}" * 1_200
    page = b'{"items":[{"metadata":{"name":"deep"},"spec":%b},{"metadata":{"name":"kept"}}]}' % deep
    empty = b'{"items":[]}'
    answers = ScriptedTransport(lambda request: Answer(200, page if request.path.endswith("/workloads") else empty))
    bundle = Bundle(answers, HOME)
    asyncio.run(bundle.collect())
    (kept,) = yaml.safe_load(bundle.files["objects/workloads.score.dev.yaml"])
    assert kept["metadata"]["name"] == "kept"
    assert "one of workloads.score.dev: more than 100 levels of nested maps and lists" in bundle.problems
