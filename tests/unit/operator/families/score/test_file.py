"""A Score file becomes a Workload, with nothing lost in silence (docs/guides/score.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from seamark.families.score.scorefile.conversion import ScoreFileError, Supplied, convert, read

FULL = """
apiVersion: score.dev/v1b1
metadata:
  name: hello
  annotations: {k8s.score.dev/kind: StatefulSet}
containers:
  main:
    image: nginx:1.27
    command: [/bin/sh]
    args: [-c, "echo hi"]
    variables: {DB: "${resources.db.host}", PRICE: "$$5"}
    files:
      /etc/app.conf: {content: "name=${metadata.name}", mode: "0644"}
      /etc/raw: {source: raw.txt, noExpand: true}
      /etc/logo: {source: logo.bin}
      /etc/key: {binaryContent: aGVsbG8=}
    volumes:
      /data: {source: "${resources.vol}", path: sub, readOnly: true}
    resources:
      limits: {cpu: "2", memory: 1Gi}
      requests: {cpu: 100m, memory: 64M}
    livenessProbe: {exec: {command: ["true"]}}
    readinessProbe:
      httpGet: {host: a, scheme: HTTP, path: /ok, port: 8080, httpHeaders: [{name: A, value: b}]}
service:
  ports:
    web: {port: 80, targetPort: 8080}
    dns: {port: 53, protocol: UDP}
resources:
  db: {type: postgres, class: large, id: shared.db, metadata: {annotations: {a: b}}, params: {x: [1, {y: 2}]}}
  vol: {type: volume}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "raw.txt").write_text("${not.expanded} ä")
    (tmp_path / "logo.bin").write_bytes(b"\xff\xfe\x00")
    return tmp_path


def converted(folder: Path, text: str) -> dict[str, Any]:
    path = folder / "score.yaml"
    path.write_text(text)
    return read(path)


def test_every_field_of_a_full_file_is_in_the_workload(folder: Path) -> None:
    assert converted(folder, FULL) == {
        "apiVersion": "score.dev/v1b1",
        "kind": "Workload",
        "metadata": {"name": "hello", "annotations": {"k8s.score.dev/kind": "StatefulSet"}},
        "spec": {
            "containers": {
                "main": {
                    "image": "nginx:1.27",
                    "command": ["/bin/sh"],
                    "args": ["-c", "echo hi"],
                    "variables": {"DB": "${resources.db.host}", "PRICE": "$$5"},
                    "files": [
                        {"target": "/etc/app.conf", "content": "name=${metadata.name}", "mode": "0644"},
                        {"target": "/etc/raw", "content": "${not.expanded} ä", "noExpand": True},
                        {"target": "/etc/logo", "binaryContent": "//4A"},
                        {"target": "/etc/key", "binaryContent": "aGVsbG8="},
                    ],
                    "volumes": [{"target": "/data", "source": "${resources.vol}", "path": "sub", "readOnly": True}],
                    "resources": {
                        "limits": {"cpu": "2", "memory": "1Gi"},
                        "requests": {"cpu": "100m", "memory": "64M"},
                    },
                    "livenessProbe": {"exec": {"command": ["true"]}},
                    "readinessProbe": {
                        "httpGet": {
                            "host": "a",
                            "scheme": "HTTP",
                            "path": "/ok",
                            "port": 8080,
                            "headers": [{"name": "A", "value": "b"}],
                        }
                    },
                }
            },
            "service": {
                "ports": [
                    {"name": "web", "port": 80, "targetPort": 8080},
                    {"name": "dns", "port": 53, "protocol": "UDP"},
                ]
            },
            "resources": {
                "db": {
                    "type": "postgres",
                    "class": "large",
                    "id": "shared.db",
                    "metadata": {"annotations": {"a": "b"}},
                    "params": {"x": [1, {"y": 2}]},
                },
                "vol": {"type": "volume"},
            },
        },
    }


def test_the_deprecated_lists_are_taken_too(folder: Path) -> None:
    listed = yaml.safe_load(FULL)
    main = listed["containers"]["main"]
    for name in ("files", "volumes"):
        main[name] = [{"target": target, **entry} for target, entry in main[name].items()]
    assert converted(folder, yaml.safe_dump(listed, sort_keys=False)) == converted(folder, FULL)


MINIMAL = {"apiVersion": "score.dev/v1b1", "metadata": {"name": "aa"}, "containers": {"main": {"image": "a"}}}


def main(**more: Any) -> dict[str, Any]:
    return {**MINIMAL, "containers": {"main": {"image": "a", **more}}}


FAULTY: dict[str, tuple[dict[str, Any], str]] = {
    "another version": ({**MINIMAL, "apiVersion": "score.dev/v1"}, "apiVersion: it is 'score.dev/v1'"),
    "a manifest": ({**MINIMAL, "kind": "Workload"}, "kind: a Score file has none"),
    "no name": ({**MINIMAL, "metadata": {}}, "metadata.name: it is missing"),
    "an annotation that is a number": (
        {**MINIMAL, "metadata": {"name": "aa", "annotations": {"tier": 3}}},
        "metadata.annotations.tier: 3 is no text",
    ),
    "no containers": ({**MINIMAL, "containers": None}, "containers: it must be a map, and is missing"),
    "a field that nobody knows": (main(imagee="a"), "containers.main.imagee: unknown field"),
    "an order of containers": (main(before={"other": {}}), "containers.main.before.other.ready: it is missing"),
    "an order with itself": (
        main(before={"main": {"ready": "started"}}),
        "containers.main.before.main: a container can't",
    ),
    "a build": (main(image="."), "containers.main.image: '.' is supplied"),
    "a number as a variable": (main(variables={"PORT": 80}), "containers.main.variables.PORT: 80 is no text"),
    "a file from nowhere": (main(files={"/a": {}}), "containers.main.files./a: exactly one of"),
    "a file that is not there": (
        main(files={"/a": {"source": "x"}}),
        "files./a.source: x: No such file",
    ),
    "a target twice": (main(files={"/a": {"target": "/b", "content": ""}}), "in a map the target is the key"),
    "a probe of nothing": (main(livenessProbe={}), "containers.main.livenessProbe: at least one of"),
    "two ports with one number": (
        {**MINIMAL, "service": {"ports": {"http": {"port": 80}, "web": {"port": 80, "protocol": "TCP"}}}},
        "service.ports.web: it has the number 80",
    ),
    "an old name in a map": (main(volumes={"/a": {"source": "x", "read_only": True}}), "volumes./a.read_only: unknown"),
    "an element without a target": (main(files=[{"content": "x"}]), "containers.main.files[0].target: an element"),
    "a port that is none": (
        {**MINIMAL, "service": {"ports": {"web": {"port": 70000}}}},
        "service.ports.web.port: 70000 is no whole number of 1 to 65535",
    ),
    "a list of ports": ({**MINIMAL, "service": {"ports": [{"port": 80}]}}, "service.ports: it must be a map"),
    "a quantity": (main(resources={"limits": {"cpu": "zzz"}}), "containers.main.resources.limits.cpu: 'zzz' must be"),
    "a resource without a type": ({**MINIMAL, "resources": {"db": {}}}, "resources.db.type: it is missing"),
    "an annotation of a resource that is a number": (
        {**MINIMAL, "resources": {"db": {"type": "dns", "metadata": {"annotations": {"a": 1}}}}},
        "resources.db.metadata.annotations.a: 1 is no text",
    ),
}


@pytest.mark.parametrize(("score", "message"), FAULTY.values(), ids=FAULTY)
def test_what_a_workload_can_not_hold_is_an_error_with_the_name_of_the_field(
    folder: Path, score: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScoreFileError) as raised:
        converted(folder, yaml.safe_dump(score))
    assert message in raised.value.message
    assert str(folder / "score.yaml") in raised.value.message


def test_a_file_that_is_no_yaml_or_not_there_is_an_error_of_one_line(folder: Path) -> None:
    with pytest.raises(ScoreFileError, match="not valid YAML"):
        converted(folder, "a: [")
    with pytest.raises(ScoreFileError, match="No such file"):
        read(folder / "other.yaml")
    with pytest.raises(ScoreFileError, match="has 2 documents"):
        converted(folder, "a: 1\n---\nb: 2")


def test_metadata_that_kubernetes_has_not_is_kept(folder: Path) -> None:
    metadata = {"name": "aa", "team": "x", "contact": {"rooms": ["n"]}, "annotations": {"k": "v"}}
    resource = {"type": "dns", "metadata": {"owner": "x", "annotations": {"k": "v"}}}
    (folder / "score.yaml").write_text(yaml.safe_dump({**MINIMAL, "metadata": metadata, "resources": {"db": resource}}))
    found = read(folder / "score.yaml")
    assert found["metadata"] == {"name": "aa", "annotations": {"k": "v"}}
    assert found["spec"]["metadata"] == {"team": "x", "contact": {"rooms": ["n"]}}
    assert found["spec"]["resources"]["db"]["metadata"] == {"annotations": {"k": "v"}, "extra": {"owner": "x"}}


def test_a_probe_may_have_both_handlers(folder: Path) -> None:
    probe = {"httpGet": {"port": 80, "path": "/", "httpHeaders": []}, "exec": {"command": ["true"]}}
    (folder / "score.yaml").write_text(yaml.safe_dump(main(readinessProbe=probe)))
    found = read(folder / "score.yaml")["spec"]["containers"]["main"]["readinessProbe"]
    assert found == {"httpGet": {"port": 80, "path": "/", "headers": []}, "exec": {"command": ["true"]}}


def test_old_forms_of_lists_are_taken(folder: Path) -> None:
    files = [{"target": "/a", "content": ["one", "two"]}]
    volumes = [{"target": "/v", "source": "${resources.v}", "read_only": True}]
    (folder / "score.yaml").write_text(yaml.safe_dump(main(files=files, volumes=volumes)))
    found = read(folder / "score.yaml")["spec"]["containers"]["main"]
    assert found["files"] == [{"target": "/a", "content": "one\ntwo"}]
    assert found["volumes"] == [{"target": "/v", "source": "${resources.v}", "readOnly": True}]


def test_kilobytes_are_written_as_kubernetes_has_them(folder: Path) -> None:
    resources = {"requests": {"memory": "65536K", "cpu": "100m"}, "limits": {"memory": "256Mi"}}
    (folder / "score.yaml").write_text(yaml.safe_dump(main(resources=resources)))
    found = read(folder / "score.yaml")["spec"]["containers"]["main"]["resources"]
    assert found == {"requests": {"memory": "65536k", "cpu": "100m"}, "limits": {"memory": "256Mi"}}


def test_an_image_is_supplied_for_a_dot_alone(folder: Path) -> None:
    two = {**MINIMAL, "containers": {"main": {"image": "."}, "side": {"image": "own"}}}
    found = convert(yaml.safe_dump(two), folder / "score.yaml", Supplied(image="built:1"))["spec"]["containers"]
    assert (found["main"]["image"], found["side"]["image"]) == ("built:1", "own")


def test_values_of_the_environment_are_supplied_where_placeholders_name_them(folder: Path) -> None:
    score = {**main(variables={"A": "${resources.env.REGION}"}), "resources": {"env": {"type": "environment"}}}
    supplied = Supplied(environment={"REGION": "north", "OTHER": "no"})
    found = convert(yaml.safe_dump(score), folder / "score.yaml", supplied)
    assert found["spec"]["resources"] == {"env": {"type": "environment", "params": {"REGION": "north"}}}
    with pytest.raises(ScoreFileError, match=r"resources.env: .* needs the environment variable REGION"):
        convert(yaml.safe_dump(score), folder / "score.yaml")


@pytest.mark.parametrize(
    ("override", "found"),
    [
        ("containers.main.args.0=x", {"args": ["x", "b"], "variables": {"a.b": "1"}}),
        ("containers.main.args.-1=c", {"args": ["a", "b", "c"], "variables": {"a.b": "1"}}),
        ("containers.main.args.1=", {"args": ["a"], "variables": {"a.b": "1"}}),
        (r"containers.main.variables.a\.b=", {"args": ["a", "b"], "variables": {}}),
        (r"containers.main.variables.a\.b='2'", {"args": ["a", "b"], "variables": {"a.b": "2"}}),
    ],
)
def test_a_property_is_set_removed_or_appended(folder: Path, override: str, found: dict[str, Any]) -> None:
    score = main(args=["a", "b"], variables={"a.b": "1"})
    container = convert(yaml.safe_dump(score), folder / "score.yaml", Supplied(properties=(override,)))
    assert container["spec"]["containers"]["main"] == {"image": "a", **found}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("containers.main.image.tag=2", "containers.main.image.tag: containers.main.image is 'a', neither a map nor"),
        ("containers.main.args.5=x", "containers.main.args has no element 5"),
        ("containers", "must be PATH=VALUE"),
        ("service.ports.http.port='80'", "service.ports.http.port: '80' is no whole number"),
    ],
)
def test_an_override_that_fits_nowhere_is_an_error(folder: Path, override: str, message: str) -> None:
    with pytest.raises(ScoreFileError) as raised:
        convert(yaml.safe_dump(main(args=["a"])), folder / "score.yaml", Supplied(properties=(override,)))
    assert message in raised.value.message


def test_an_overrides_file_is_merged_and_null_removes(folder: Path) -> None:
    overrides = {"containers": {"main": {"args": None, "image": "b"}}, "metadata": {"team": "x"}}
    found = convert(yaml.safe_dump(main(args=["a"])), folder / "score.yaml", Supplied(overrides=overrides))
    assert found["spec"]["containers"]["main"] == {"image": "b"}
    assert found["spec"]["metadata"] == {"team": "x"}


def test_words_are_those_of_yaml_1_2(folder: Path) -> None:
    text = yaml.safe_dump(MINIMAL) + "service: {ports: {}}\n"
    found = convert(
        text.replace("image: a", "image: a\n    variables: {A: yes, B: on, C: 12:30}"), folder / "score.yaml"
    )
    assert found["spec"]["containers"]["main"]["variables"] == {"A": "yes", "B": "on", "C": "12:30"}
    with pytest.raises(ScoreFileError, match=r"variables\.A: True is no text"):
        convert(text.replace("image: a", "image: a\n    variables: {A: true}"), folder / "score.yaml")
    with pytest.raises(ScoreFileError, match="the key 'image' is there twice"):
        convert(text.replace("image: a", "image: a\n    image: b"), folder / "score.yaml")
