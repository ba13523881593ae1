"""Settings, declared once as a struct: from a file, the environment and flags, in that order of growing weight.

- A field's `Meta(description=…)` is its help, its default the default; `docs/reference/settings.md` is made from it.
- The file is YAML with the fields' names; the environment has `SEAMARK_<NAME>`; a flag is `--<name>`. A program of
  its own has a prefix of its own (`SEAMARK_EDGE_<NAME>`), so that two programs in one Pod don't read each other's
  settings.
- An error names the source of a wrong value and what is allowed. An unknown name in the file is an error, too: an
  ignored setting is worse than none.
- A setting that was renamed is accepted under its former name for one version, with a warning (`former`). The value of
  one that was replaced by another is ignored, with a warning (`replaces`).
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from seamark_runtime.errors import UserError
from seamark_runtime.untrusted.decoding import Malformed, decode_yaml

S = TypeVar("S", bound=msgspec.Struct)
PREFIX = "SEAMARK_"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the operator runs."""

    kubeconfig: Annotated[str, Meta(description="Which kubeconfig to use; inside a pod none is needed")] = ""
    context: Annotated[str, Meta(description="Which context of the kubeconfig")] = ""
    families: Annotated[tuple[str, ...], Meta(description="Which families to run; there is no default")] = ()
    namespace: Annotated[str, Meta(description="The operator's own namespace")] = "seamark-system"
    workers: Annotated[int, Meta(description="Keys worked on at once", ge=1, le=1024)] = 64
    request_timeout: Annotated[float, Meta(description="Seconds until a request is given up", gt=0)] = 30.0
    leader_election: Annotated[bool, Meta(description="Elect one of several replicas by a Lease")] = True
    lease: Annotated[
        str, Meta(description="The Lease that replicas share; families that run apart each have their own")
    ] = "seamark"
    lease_duration: Annotated[float, Meta(description="Seconds that a lease lasts", ge=1)] = 15.0
    watch_idle: Annotated[
        float, Meta(description="Seconds without a byte after which a watch counts as half-open", gt=0)
    ] = 150.0
    watch_lifetime: Annotated[float, Meta(description="Seconds after which a watch is opened anew", ge=10)] = 600.0
    single_reads: Annotated[
        float, Meta(description="Seconds between two reads of an object that is followed by name, as Secrets are", ge=1)
    ] = 10.0
    health_address: Annotated[
        str, Meta(description="Where /healthz, /readyz and /metrics are served; empty for nowhere")
    ] = "127.0.0.1:8080"
    console: Annotated[
        str, Meta(description="Where the console and the evidence for `seamark explain` are served; empty for nowhere")
    ] = ""
    evidence: Annotated[
        str, Meta(description="Where the evidence alone is served, for a console that runs apart; empty for nowhere")
    ] = ""
    stop_grace: Annotated[float, Meta(description="Seconds in which work in progress may end on a stop", ge=0)] = 5.0
    log_level: Annotated[
        str, Meta(description="debug, info, warning or error", pattern="^(debug|info|warning|error)$")
    ] = "info"


@dataclass(frozen=True)
class Former:
    """A name that a setting had in the version before."""

    name: str
    counts: bool  # whether its value still has an effect


def former(name: str) -> Meta:
    """Of a setting that was renamed: the value of its former name counts, unless the new name is set as well."""
    return Meta(extra={"former": Former(name, counts=True)})


def replaces(name: str) -> Meta:
    """Of a setting in place of another, whose values would be wrong for it."""
    return Meta(extra={"former": Former(name, counts=False)})


@dataclass(frozen=True)
class Field:
    """One setting, as a flag and a page of the reference need it."""

    name: str
    type: type
    default: Any
    description: str
    many: bool = False  # several values; in a flag or variable with commas between them
    prefix: str = PREFIX
    former: Former | None = None

    @property
    def flag(self) -> str:
        return flag(self.name)

    @property
    def variable(self) -> str:
        return self.prefix + self.name.upper()


def flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def declared(shape: type[S], prefix: str = PREFIX) -> list[Field]:
    hints = typing.get_type_hints(shape, include_extras=True)
    found = []
    for info in msgspec.structs.fields(shape):
        base, *metas = typing.get_args(hints[info.name])
        many = typing.get_origin(base) is tuple
        description = next((meta.description for meta in metas if isinstance(meta, Meta) and meta.description), "")
        extras = [meta.extra for meta in metas if isinstance(meta, Meta) and meta.extra]
        old = next((extra["former"] for extra in extras if "former" in extra), None)
        found.append(Field(info.name, str if many else base, info.default, description, many, prefix, old))
    return found


def load(
    shape: type[S],
    *,
    file: str = "",
    environment: Mapping[str, str],
    flags: Mapping[str, Any],
    prefix: str = PREFIX,
) -> S:
    """The settings in force; the first thing that is wrong, in one line."""
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    fields = declared(shape, prefix)
    for source, given in (
        (file, _file(file) if file else {}),
        ("the environment", _environment(fields, environment)),
        ("the command line", {name: value for name, value in flags.items() if value is not None}),
    ):
        current = _by_current_names(fields, given, source)
        values.update(current)
        origin.update(dict.fromkeys(current, source))
    known = {field.name: field for field in fields}
    for name in values:
        if name not in known:
            raise UserError(f"{origin[name]}: unknown setting {name!r}", hint="known are " + ", ".join(sorted(known)))
    values = {
        name: tuple(filter(None, value.split(","))) if known[name].many and isinstance(value, str) else value
        for name, value in values.items()
    }
    for name, value in values.items():
        _check(shape, name, value, origin[name])
    return msgspec.convert(values, shape, strict=False)


def _check(shape: type[S], name: str, value: Any, origin: str) -> None:
    try:
        msgspec.convert({name: value}, shape, strict=False)
    except msgspec.ValidationError as error:
        problem = str(error).split(" - at ")[0].lower()
        raise UserError(f"{origin}: {name} is {value!r}, but {problem}") from None


def _environment(fields: list[Field], environment: Mapping[str, str]) -> dict[str, str]:
    variables = {field.name: field.variable for field in fields}
    variables |= {f.former.name: f.prefix + f.former.name.upper() for f in fields if f.former}
    return {name: environment[variable] for name, variable in variables.items() if variable in environment}


def _by_current_names(fields: list[Field], given: Mapping[str, Any], source: str) -> dict[str, Any]:
    """The values by the names that settings have now; a warning for each former name."""
    current = dict(given)
    for field in fields:
        if field.former and field.former.name in current:
            value = current.pop(field.former.name)
            if field.former.counts:
                current.setdefault(field.name, value)
                _warn(f"{source}: the setting {field.former.name} is called {field.name} now; rename it")
            else:
                _warn(f"{source}: the setting {field.former.name} has no effect any more; see {field.name}")
    return current


def _warn(text: str) -> None:
    """Before logs are configured, beside the errors of the command line."""
    sys.stderr.write(f"seamark: warning: {text}\n")


def _file(path: str) -> dict[str, Any]:
    try:
        content = decode_yaml(Path(path).read_text())
    except OSError as error:
        raise UserError(f"settings file {path}: {error.strerror}") from None
    except (Malformed, UnicodeDecodeError) as error:
        raise UserError(f"settings file {path}: {error}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UserError(f"settings file {path} must be a map of names to values")
    return {str(name).replace("-", "_"): value for name, value in content.items()}
