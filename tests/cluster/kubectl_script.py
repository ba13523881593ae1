"""What a person does with kubectl, command by command: run on both servers, with the outputs compared.

Masked is what no two clusters have in common: uids, ages and times, versions, addresses, and names that were made up.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from seamark.families.sample.family import GREETING
from seamark_runtime.api.crd import manifests
from tests.cluster.kubelet_machine import echo_deployment

COLOURS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: sea, labels: {app: shop}}
data: {colour: blue, depth: "3"}
"""
GREETING_FILE = """
apiVersion: sample.seamark.dev/v1alpha1
kind: Greeting
metadata: {name: hello}
spec: {text: Ahoy}
"""
SET = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: main, image: seamark.dev/echo, ports: [{name: http, containerPort: 3000}]}]
"""
WEB = yaml.safe_dump_all(echo_deployment("web", 2))


@dataclass(frozen=True)
class Step:
    """One command; `stdin` is what it reads from `-f -`. Both output streams and the exit code count."""

    command: str
    stdin: str = ""
    user: str = "admin"


def _steps() -> Iterator[Step]:
    yield from (Step(line) for line in FIRST.strip().splitlines())
    yield Step("apply -f -", COLOURS)
    yield Step("apply -f -", COLOURS)
    yield Step("diff -f -", COLOURS.replace("blue", "green"))
    yield Step("apply -f -", COLOURS.replace("blue", "green"))
    yield Step("apply --server-side -f -", COLOURS.replace("blue", "grey"))
    yield Step("apply --server-side --force-conflicts -f -", COLOURS.replace("blue", "grey"))
    yield Step("create -f -", COLOURS)
    yield Step("replace -f -", COLOURS)
    yield from (Step(line) for line in OBJECTS.strip().splitlines())
    yield Step("apply -f -", manifests([GREETING]))
    yield Step("wait --for=condition=Established crd/greetings.sample.seamark.dev --timeout=10s")
    yield Step("apply -f -", GREETING_FILE)
    yield from (Step(line) for line in GREETINGS.strip().splitlines())
    yield Step("apply -f -", WEB)
    yield from (Step(line) for line in WORKLOADS.strip().splitlines())
    yield Step("apply -f -", SET)
    yield from (Step(line) for line in SETS.strip().splitlines())
    yield Step("get configmaps", user="alice")
    yield Step("auth can-i list configmaps", user="alice")
    yield Step("create rolebinding alice --clusterrole=viewer --user=alice")
    yield Step("create clusterrole viewer --verb=get,list --resource=configmaps")
    yield Step("get configmap sea", user="alice")
    yield Step("auth can-i list configmaps", user="alice")
    yield Step("delete configmap sea", user="alice")
    yield Step("apply -f -", "a: [")
    yield Step("apply -f -", "just words")
    yield Step("apply -f -", "{apiVersion: v1, kind: Harbour, metadata: {name: a}}")
    yield Step("apply -f -", "{apiVersion: nowhere.example.com/v1, kind: Boat, metadata: {name: a}}")
    yield Step("apply -f -", COLOURS.replace("blue", "[1, 2]"))
    yield Step("apply -f -", COLOURS.replace("data:", "datum:"))
    yield Step("apply -f -", GREETING_FILE.replace("Ahoy", "[]"))
    yield Step("apply -f -", GREETING_FILE.replace("text", "txet"))
    yield Step("apply -f -", WEB.replace("replicas: 2", "replicas: many"))
    yield Step("create -f -", COLOURS.replace("sea,", "ocean,").replace("blue", "b" * 5_000_000))
    yield Step("create -f -", COLOURS.replace("sea,", "ocean,").replace("blue", "b" * 1_100_000))
    yield Step("create -f -", COLOURS.replace("sea,", "Ocean_,"))
    yield from (Step(line) for line in LAST.strip().splitlines())


FIRST = """
version
create namespace shop
get namespace shop
get namespace shop -o jsonpath={.status.phase}
get serviceaccounts
get configmaps
api-resources --api-group=apps --no-headers
api-resources --api-group=discovery.k8s.io
api-resources --api-group=coordination.k8s.io
get --raw /healthz
get --raw /readyz
auth whoami
auth can-i create deployments
"""
OBJECTS = """
get configmap sea
get configmap sea -o yaml
get configmap sea -o json
get configmap sea -o wide
get configmap sea -o name
get configmap sea -o jsonpath={.data.colour}
get configmap sea -o go-template={{.data.depth}}
get configmap sea --show-labels
get configmap sea --show-managed-fields -o yaml
get configmaps -o custom-columns=NAME:.metadata.name,DEPTH:.data.depth
get configmap -l app=shop
get configmap -l app=other
get configmap --field-selector metadata.name=sea -o name
get configmap --watch --request-timeout=1s --output-watch-events
patch configmap sea --type=merge -p '{"data":{"depth":"4"}}'
patch configmap sea --type=json -p '[{"op":"replace","path":"/data/depth","value":"5"}]'
patch configmap sea --type=json -p '[{"op":"test","path":"/data/depth","value":"9"}]'
patch configmap sea -p '{"data":{"depth":null}}'
label configmap sea tide=high
label configmap sea tide=low
label configmap sea tide=low --overwrite
annotate configmap sea note=calm
edit configmap sea
describe configmap sea
create secret generic keys --from-literal=word=mellon
get secret keys
get secret keys -o jsonpath={.data.word}
describe secret keys
create configmap more --from-literal=a=b --dry-run=server -o yaml
create configmap more --from-literal=a=b
get cm/more cm/sea -o name
create serviceaccount sailor
create role reader --verb=get --verb=list --resource=pods
create rolebinding reader --role=reader --serviceaccount=shop:sailor
get role,rolebinding
auth can-i list pods --as=system:serviceaccount:shop:sailor
auth can-i delete pods --as=system:serviceaccount:shop:sailor
get rolebinding reader -o wide
create quota small --hard=pods=20
get quota small
describe quota small
create service clusterip plain --tcp=80:3000
get service plain -o jsonpath={.spec.ports}
create service externalname out --external-name=example.com
get service out
delete service plain out
create ingress front --rule=example.com/*=web:80
get ingress front
describe ingress front
create poddisruptionbudget calm --selector=app=web --min-available=1
delete ingress front
delete quota small
get configmap nobody
get harbours
delete configmap more
delete configmap more --ignore-not-found
"""
GREETINGS = """
get greetings
get gr hello -o wide
get gr hello -o yaml
explain greeting.spec
explain greeting.spec.text
explain greeting.spec.nothing
patch gr hello --type=merge -p '{"spec":{"text":"Farewell"}}'
patch gr hello --type=merge -p '{"spec":{"board":7}}'
describe gr hello
wait gr/hello --for=jsonpath={.spec.text}=Farewell --timeout=5s
api-resources --api-group=sample.seamark.dev
get crd greetings.sample.seamark.dev
delete gr hello
get gr
"""
WORKLOADS = """
rollout status deployment/web --timeout=60s
wait --for=condition=Available deployment/web --timeout=60s
wait --for=condition=Ready pod -l app=web --timeout=60s
events --for deployment/web
get events --field-selector involvedObject.kind=Deployment
get deployment web
get deployment web -o wide
get deployment web -o jsonpath={.status.readyReplicas}/{.status.replicas}
get replicasets
get replicasets -o wide
get pods
get pods -o wide
get pods -l app=web -o name
get pods --field-selector status.phase=Running -o name
get pods --field-selector status.phase=Failed
get services
get services -o wide
get service web -o yaml
get endpointslices
get endpoints web
get deployment,replicaset,pod,service --show-labels
get all
describe service web
describe deployment web
describe replicaset
logs deployment/web --tail=1
logs -l app=web --tail=1
logs deployment/web -c nobody
logs nobody
scale deployment web --replicas=3
rollout status deployment/web --timeout=60s
set env deployment/web MODE=new
rollout status deployment/web --timeout=60s
rollout history deployment/web
rollout undo deployment/web
rollout status deployment/web --timeout=60s
rollout history deployment/web
rollout pause deployment/web
rollout resume deployment/web
set image deployment/web echo=seamark.dev/echo:v2
rollout status deployment/web --timeout=60s
get replicasets -o custom-columns=WANTED:.spec.replicas,READY:.status.readyReplicas --sort-by=.spec.replicas
scale deployment web --replicas=1
wait --for=jsonpath={.status.replicas}=1 deployment/web --timeout=60s
expose deployment web --name=again --port=81 --target-port=3000
get service again -o jsonpath={.spec.selector}
run alone --image=seamark.dev/echo --restart=Never --overrides='{"spec":{"automountServiceAccountToken":false}}'
wait --for=condition=Ready pod/alone --timeout=60s
get pod alone
describe pod alone
delete pod alone --grace-period=1
get pod alone
run broken --image=nowhere.example.com/nothing:1
wait --for=jsonpath={.status.phase}=Pending pod/broken --timeout=60s
logs broken
delete pod broken --grace-period=0 --force
get nodes
cordon seamark
uncordon seamark
delete deployment web --cascade=foreground
get deployment,replicaset,pods -l app=web
"""
SETS = """
rollout status statefulset/db --timeout=60s
get statefulset db
get statefulset db -o wide
get pods -l app=db
describe statefulset db
rollout history statefulset/db
scale statefulset db --replicas=1
wait --for=delete pod/db-1 --timeout=60s
delete statefulset db
wait --for=delete pod/db-0 --timeout=60s
"""
LAST = """
create token sailor
delete namespace shop --timeout=60s
get namespace shop
get configmaps
apply -f /nowhere.yaml
frobnicate
"""

STEPS = tuple(_steps())
EDITOR = "sed -i s/blue/green/"


def play(kubectl: str, kubeconfig: Path, steps: tuple[Step, ...] = STEPS) -> list[str]:
    """The output of each step, masked."""
    environment = {**os.environ, "KUBE_EDITOR": EDITOR, "KUBECTL_COMMAND_HEADERS": "false"}
    said = []
    for step in steps:
        namespace = [] if "namespace" in step.command.split()[:2] else ["-n", "shop"]
        command = [kubectl, "--kubeconfig", str(kubeconfig), "--context", step.user, *namespace]
        done = subprocess.run(
            [*command, *shlex.split(step.command)],
            input=step.stdin,
            capture_output=True,
            text=True,
            timeout=120,
            env=environment,
            check=False,
        )
        said.append(f"exit {done.returncode}\n{masked(done.stdout)}\n{masked(done.stderr)}")
    return said


UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (UID, "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "TIME"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000"), "TIME"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000"), "TIME"),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+\b(:\d+)?"), "ADDRESS"),
    (re.compile(r'((?:resourceVersion|uid|Resource Version)"?: *)"?\d+"?'), r"\1N"),
    (re.compile(r"\b(web|db)-[a-z0-9]{8,10}(-[a-z0-9]{5})?\b"), r"\1-MADE\2"),
    (re.compile(r"-MADE-[a-z0-9]{5}\b"), "-MADE-UP"),
    (re.compile(r"\b(web|again)-[a-z0-9]{5}\b"), r"\1-UP"),
    (re.compile(r"pod-template-hash[=:] ?\w+"), "pod-template-hash=MADE"),
    (re.compile(r"kube-api-access-\w{5}"), "kube-api-access-UP"),
    (re.compile(r"/tmp/[\w./-]+"), "FILE"),
    (re.compile(r"(?<=\s)(\d+[dhms])+(?=\s|$)", re.MULTILINE), "AGE"),
    (re.compile(r"eyJ[\w.-]+|\b[0-9a-f]{32}\b"), "TOKEN"),
    (
        re.compile(r"Waiting for .*(?:rollout to finish: .*|(?:pods to be ready|spec update to be observed)\.\.\.)\n"),
        "",
    ),  # how much of it one sees depends on the moment
    (re.compile(r"(?<= is invalid: patch: Invalid value: ).*"), "AND WHY"),  # an error message of Go's decoders
    (re.compile(r"Service Account: .*\n"), ""),  # the embedded server gives a Pod no account that it did not ask for
    (re.compile(r"(Normal|Warning)( +\S+ +\S+ +(?:\(.*\) +)?)[\w-]+( +)"), r"\1\2FROM\3"),
    (re.compile(r"[ \t]+"), " "),
    (re.compile(r" $", re.MULTILINE), ""),
)


def masked(text: str) -> str:
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    lines = text.split("\n")
    events = [number for number, line in enumerate(lines) if line.startswith((" Normal ", " Warning "))]
    for number, line in zip(events, sorted(lines[number] for number in events), strict=True):
        lines[number] = line  # those of one second come in any order
    return "\n".join(lines)
