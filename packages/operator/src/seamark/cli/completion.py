"""seamark completion: what a shell needs to complete our commands, as a script without requests to the cluster.

- The script is made from the commands as they are declared: it knows every subcommand and flag of this version.
- kubectl has a protocol of its own for its plugins: it runs `kubectl_complete-seamark` with the words so far.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from seamark.explain.kinds import EXPLAINED
from seamark_runtime.errors import UserError

PROGRAMS = ("seamark", "kubectl-seamark")
NO_FILES = ":4"  # kubectl's word for: nothing but these

Shell = Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]


@dataclass(frozen=True)
class CommandEntry:
    """A command by its words, and what may follow them: each with what it means."""

    path: tuple[str, ...]
    completions: tuple[tuple[str, str], ...]
    group: bool

    @property
    def plain(self) -> str:
        return " ".join(word for word, _ in self.completions)


def completion(shell: Shell) -> None:
    """Print a script that completes our commands: `source <(seamark completion bash)`."""
    if shell not in SCRIPTS:
        raise UserError(f"there is no completion for {shell!r}", hint=f"there are {', '.join(SCRIPTS)}")
    typer.echo(SCRIPTS[shell](list(every_entry())), nl=False)


def every_entry() -> Iterator[CommandEntry]:
    from seamark.cli.main import app  # noqa: PLC0415  # it has this command, too

    return entries(typer.main.get_command(app))


def entries(declared: Any, path: tuple[str, ...] = ()) -> Iterator[CommandEntry]:
    """Every command of the tree, the outermost first."""
    names = sorted(declared.list_commands(None)) if hasattr(declared, "list_commands") else []
    below = {name: declared.get_command(None, name) for name in names}
    completions = [(name, _first_line(command.help)) for name, command in below.items()]
    if path == ("explain",):
        completions += [(f"{kind.kind.lower()}/", f"a {kind.kind}") for kind in EXPLAINED]
    completions += sorted(_flags(declared))
    yield CommandEntry(path, tuple(completions), bool(below))
    for name, command in below.items():
        yield from entries(command, (*path, name))


def _flags(declared: Any) -> Iterator[tuple[str, str]]:
    yield "--help", "Show what it does."
    for parameter in declared.params:
        for flag in (*parameter.opts, *parameter.secondary_opts):
            if flag.startswith("--") and flag != "--help":
                yield flag, _first_line(getattr(parameter, "help", ""))


def _first_line(text: str | None) -> str:
    return " ".join((text or "").strip().split("\n\n")[0].split())


def bash(found: Sequence[CommandEntry]) -> str:
    cases = "".join(
        f'    "{"".join(f" {word}" for word in entry.path)}") words="{entry.plain}" ;;\n' for entry in found
    )
    return f"""# Completes seamark in bash: source <(seamark completion bash)
_seamark() {{
  local at="" i words=""
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at ${{COMP_WORDS[i]}}" in
      {_known(found)}) at="$at ${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$at" in
{cases}  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
  [[ ${{#COMPREPLY[@]}} == 1 && $COMPREPLY == */ ]] && compopt -o nospace
  return 0
}}
complete -o default -F _seamark {" ".join(PROGRAMS)}
"""


def zsh(found: Sequence[CommandEntry]) -> str:
    cases = "".join(
        f'    "{"".join(f" {word}" for word in entry.path)}")\n      found=(\n'
        + "".join(f"        {_quoted(_described(word, meaning))}\n" for word, meaning in entry.completions)
        + "      ) ;;\n"
        for entry in found
    )
    return f"""#compdef {" ".join(PROGRAMS)}
# Completes seamark in zsh: source <(seamark completion zsh), after compinit
_seamark() {{
  local at="" i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    case "$at ${{words[i]}}" in
      {_known(found)}) at="$at ${{words[i]}}" ;;
    esac
  done
  case "$at" in
{cases}  esac
  _describe seamark found || _files
}}
compdef _seamark {" ".join(PROGRAMS)}
"""


def fish(found: Sequence[CommandEntry]) -> str:
    known = " ".join(_quoted(" ".join(entry.path)) for entry in found if entry.path)
    lines = [
        "# Completes seamark in fish: seamark completion fish | source",
        f"set -g __seamark_known {known}",
        FISH.strip(),
    ]
    for program in PROGRAMS:
        for entry in found:
            at, alone = " ".join(entry.path), "-f " * entry.group
            for word, meaning in entry.completions:
                lines.append(
                    f"complete {alone}-c {program} -n '__seamark_at {at}' -a {_quoted(word)} -d {_quoted(meaning)}"
                )
    return "\n".join(lines) + "\n"


FISH = """
function __seamark_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim "$at $word")
        contains -- $next $__seamark_known; and set at $next
    end
    test "$at" = "$argv"
end
"""


def _known(found: Sequence[CommandEntry]) -> str:
    """All commands, as a pattern."""
    return " | ".join(f'"{"".join(f" {word}" for word in entry.path)}"' for entry in found if entry.path)


def _described(word: str, meaning: str) -> str:
    return f"{word}:{meaning}".replace("::", ":")


def _quoted(text: str) -> str:
    """One word for zsh and fish alike."""
    plain = text.replace("'", "\u2019").replace("\\", "")
    return f"'{plain}'"


SCRIPTS: dict[str, Callable[[Sequence[CommandEntry]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}


def for_kubectl() -> None:
    """What kubectl runs to complete its plugin: the words so far come in, what may follow goes out, a line each."""
    known = {entry.path: entry for entry in every_entry()}
    *before, begun = sys.argv[1:] or [""]
    at: tuple[str, ...] = ()
    for word in before:
        at = (*at, word) if (*at, word) in known else at
    fitting = [f"{word}\t{meaning}" for word, meaning in known[at].completions if word.startswith(begun)]
    typer.echo("\n".join([*fitting, NO_FILES]))
