"""The page: plots with what they say in words, and every number as a table. Nothing is fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from tools.report import plots
from tools.report.drawing import TIMES, number
from tools.report.runs import Results, Run

STYLE = (Path(__file__).parent / "style.css").read_text()
STANDARD = "standard"


def page(results: Results, made: str) -> str:
    parts = [floor(results), latencies(results), memory(results), costs(results), numbers(results), schedules(results)]
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Seamark, measured</title>
<style>
{STYLE}</style>
</head>
<body>
<header>
<h1>Seamark, measured</h1>
<p>{escape(made)}</p>
</header>
<main>
{"".join(parts)}</main>
<footer></footer>
</body>
</html>
"""


def section(title: str, words: str, *figures: str) -> str:
    shown = "\n".join(f"<figure>{figure}</figure>" for figure in figures)
    return f"<section>\n<h2>{escape(title)}</h2>\n<p>{escape(words)}</p>\n{shown}\n</section>\n"


def missing(title: str, command: str) -> str:
    return f"<section>\n<h2>{escape(title)}</h2>\n<p>Not measured yet: <code>{command}</code></p>\n</section>\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return f'<div class="wide"><table>\n<thead>{line(heads, "th")}</thead>\n<tbody>{body}</tbody>\n</table></div>'


def floor(results: Results) -> str:
    title = "Time against the floor"
    runs = [run for run in results.latest("bench", STANDARD) if run.drawn.get("ratios")]
    if not runs:
        return missing(title, "make bench")
    words = (
        f"The same writes by a bare client, which thinks nothing and watches nothing, are the floor: 1 {TIMES}. "
        "Each dot is one pair of floor and operator, the bar their median, the dashed mark the target."
    )
    return section(title, words, plots.against_the_floor(runs))


def latencies(results: Results) -> str:
    title = "Latency"
    runs = [run for run in results.latest("bench", STANDARD) if run.drawn.get("latency_ms")]
    if not runs:
        return missing(title, "make bench")
    words = (
        "From the moment at which a watching user sees an object to the moment at which it is done, "
        "while all objects of a run are made at once. Lines are the 50th and the 99th percentile."
    )
    return section(title, words, *(plots.latency(run) for run in runs)).replace(
        "<section>", '<section class="many">', 1
    )


def memory(results: Results) -> str:
    title = "Memory over time"
    if not results.memory:
        return missing(title, "make soak")
    words = "Resident memory of the processes under a soak. What grows without an end leaks."
    return section(title, words, plots.memory_over_time(results.memory))


def costs(results: Results) -> str:
    title = "Cost against N"
    sizes, changes = results.sizes("sizes"), results.sizes("changes")
    if not sizes and not changes:
        return missing(title, "make bench N=5000")
    figures = []
    if sizes:
        named = "Milliseconds an object by the number of objects"
        figures.append(plots.cost(sizes, "ms an object", named, "objects made at once"))
    if changes:
        named = "CPU of one change by the number of records"
        figures.append(plots.cost(changes, "ms of CPU for one change", named, "records among which one changes"))
    words = "A flat line means that an object, or a change, costs the same however many others there are."
    return section(title, words, *figures)


def numbers(results: Results) -> str:
    parts = [_numbers(part, results.latest("bench", part)) for part in (STANDARD, "restart", "kill")]
    shown = "\n".join(part for part in parts if part)
    if not shown:
        return missing("Numbers", "make bench")
    return f"<section>\n<h2>Numbers</h2>\n{shown}\n</section>\n"


def _numbers(part: str, runs: Sequence[Run]) -> str:
    rows = [
        (run.family, name.replace("_", " "), number(value), run.day, run.commit)
        for run in runs
        for name, value in run.numbers.items()
    ]
    if not rows:
        return ""
    shown = table(("family", "number", "value", "date", "commit"), rows)
    named = escape(f"{part}: {', '.join(run.family for run in runs)}")
    return f"<details><summary>{named}</summary>\n{shown}\n</details>"


def schedules(results: Results) -> str:
    title = "Simulation"
    runs = results.latest("simulate")
    if not runs:
        return missing(title, "make simulate")
    rows = [
        (
            run.family,
            number(run.numbers.get("seeds", 0)),
            number(run.numbers.get("failures", 0)),
            number(run.numbers.get("per_core_second", 0)),
            run.day,
            run.commit,
        )
        for run in runs
    ]
    words = "Adverse schedules on the deterministic loop: each checks every promise at every write."
    heads = ("family", "schedules", "failures", "a second and core", "date", "commit")
    return section(title, words, table(heads, rows))
