"""The four pictures: time against the floor, memory over time, latency, cost against N."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from tools.report.drawing import TIMES, Canvas, Scale, number, rounded_up
from tools.report.runs import Memory, Run

WIDTH = 860
SMALL, SMALL_HEIGHT = 410, 190
ROW = 44
COLOURS = 7  # classes s0 to s6 of the page


def against_the_floor(runs: Sequence[Run]) -> str:
    """A row a family: each pair a dot, the median a bar, the floor a line, the target a mark."""
    drawn = [run for run in runs if run.drawn.get("ratios")]
    left, right, top = 120, WIDTH - 70, 34
    bottom = top + ROW * len(drawn)
    every = [value for run in drawn for value in (*run.drawn["ratios"], run.drawn.get("target", 1.0), 1.0)]
    scale = Scale(math.floor(5 * min(0.9, *every)) / 5, rounded_up(max(every) * 1.02), left, right)
    canvas = Canvas(WIDTH, bottom + 46, "Time of the operator against the floor, by family")
    canvas.across(scale, top, bottom, lambda value: f"{value:g} {TIMES}")
    canvas.line([(scale(1.0), top - 8), (scale(1.0), bottom)], "floor")
    canvas.text((scale(1.0), top - 14), "the floor", "note", "middle")
    for place, run in enumerate(drawn):
        _row(canvas, scale, top + ROW * place + ROW / 2, run)
    canvas.text((right, bottom + 38), "time until all objects are done, against a bare client's", "axis", "end")
    return canvas.svg()


def _row(canvas: Canvas, scale: Scale, y: float, run: Run) -> None:
    ratios, target = run.drawn["ratios"], run.drawn.get("target", 0.0)
    middle = statistics.median(ratios)
    canvas.text((scale.start - 14, y + 4), run.family, "name", "end")
    canvas.line([(scale(min(ratios)), y), (scale(max(ratios)), y)], "reach")
    for value in ratios:
        canvas.dot((scale(value), y), 4.5, "pair", f"a pair: {value:.2f} {TIMES}")
    if target:
        at = scale(target)
        canvas.line([(at, y - 14), (at, y + 14)], "target")
    style = "median missed" if target and middle > target else "median"
    canvas.rectangle((scale(middle) - 2.5, y - 11), (5, 22), style, f"{run.family}: median {middle:.2f} {TIMES}")
    canvas.text((scale.end + 10, y + 4), f"{middle:.2f} {TIMES}", "value")


def memory_over_time(soaks: Sequence[Memory]) -> str:
    left, right, top, bottom = 64, WIDTH - 24, 16, 236
    hours = max(moment for soak in soaks for moment, _ in soak.samples)
    most = max(megabytes for soak in soaks for _, megabytes in soak.samples)
    minutes = hours < 3
    across = Scale(0, (hours * 60 if minutes else hours) or 1, left, right)
    upward = Scale(0, rounded_up(most * 1.05), bottom, top)
    canvas = Canvas(WIDTH, bottom + 46, "Resident memory over the time of a soak")
    canvas.across(across, top, bottom)
    canvas.upward(upward, left, right)
    for place, soak in enumerate(soaks):
        points = [(across(at * 60 if minutes else at), upward(megabytes)) for at, megabytes in thinned(soak.samples)]
        canvas.line(points, f"curve s{place % COLOURS}")
        x, y = points[-1]
        canvas.text((x, y - 8), f"{soak.name}: {soak.samples[-1][1]:.0f} MB", f"end s{place % COLOURS}", "end")
    canvas.text((right, bottom + 38), "minutes" if minutes else "hours", "axis", "end")
    canvas.text((left, top - 4), "MB", "axis")
    return canvas.svg()


def thinned(samples: Sequence[tuple[float, float]], most: int = 800) -> list[tuple[float, float]]:
    """At most as many points as a screen can show; of each stretch the highest, so that no peak is lost."""
    stretch = -(-len(samples) // most)
    parts = [samples[start : start + stretch] for start in range(0, len(samples), stretch)]
    return [max(part, key=lambda sample: sample[1]) for part in parts]


def latency(run: Run) -> str:
    """How long objects took until they were done, as a histogram with two of its percentiles."""
    found = run.drawn["latency_ms"]
    bars = [(bound, count) for bound, count in found["histogram"] if bound > 0]
    factor = 10 ** (1 / 6)
    left, right, top, bottom = 48, SMALL - 16, 40, SMALL_HEIGHT - 34
    across = Scale(bars[0][0] / factor, bars[-1][0], left, right, logarithmic=True)
    upward = Scale(0, max(count for _, count in bars), bottom, top)
    canvas = Canvas(
        SMALL, SMALL_HEIGHT, f"Latency of {run.family}: p50 {found['p50']:.0f} ms, p99 {found['p99']:.0f} ms"
    )
    canvas.text((left, 16), run.family, "name")
    canvas.across(across, top, bottom)
    for bound, count in bars:
        x, end, y = across(bound / factor), across(bound), upward(count)
        tip = f"{number(bound / factor)} to {number(bound)} ms: {count} objects"
        canvas.rectangle((x + 0.5, y), (end - x - 1, bottom - y), "bar", tip)
    for share, row in (("p50", 0), ("p99", 1)):
        x = across(found[share])
        canvas.line([(x, top - 6), (x, bottom)], f"percentile q{row}")
    words = f"p50 {number(found['p50'])} ms · p99 {number(found['p99'])} ms"
    canvas.text((right, 16), words, "value", "end")
    canvas.text((right, SMALL_HEIGHT - 2), "ms", "axis", "end")
    return canvas.svg()


def cost(sizes: Mapping[str, Sequence[tuple[int, float]]], unit: str, title: str, n: str) -> str:
    """Each family a line over N. Flat is linear in all: an object costs the same however many there are."""
    left, right, top, bottom = 64, WIDTH - 150, 20, 250
    every = [point for points in sizes.values() for point in points]
    across = Scale(min(at for at, _ in every) * 0.8, max(at for at, _ in every) * 1.25, left, right, logarithmic=True)
    upward = Scale(0, rounded_up(max(value for _, value in every) * 1.05), bottom, top)
    canvas = Canvas(WIDTH, bottom + 46, title)
    canvas.across(across, top, bottom)
    canvas.upward(upward, left, right)
    ends = apart([(upward(points[-1][1]), family) for family, points in sizes.items()])
    for place, (family, points) in enumerate(sizes.items()):
        drawn = [(across(at), upward(value)) for at, value in points]
        style = f"s{place % COLOURS}"
        canvas.line(drawn, f"curve {style}")
        for (at, value), where in zip(points, drawn, strict=True):
            canvas.dot(where, 4, f"point {style}", f"{family}, N={at}: {value:.2f} {unit}")
        canvas.line([drawn[-1], (right + 10, ends[family])], "leader")
        canvas.text((right + 14, ends[family] + 4), f"{family} {number(points[-1][1])}", f"end {style}")
    canvas.text((right, bottom + 38), n, "axis", "end")
    canvas.text((left, top - 8), unit, "axis")
    return canvas.svg()


def apart(places: Sequence[tuple[float, str]], least: float = 17) -> dict[str, float]:
    """Places for labels, none on another: each as near to its own as those above it allow."""
    found: dict[str, float] = {}
    free = 0.0
    for wanted, name in sorted(places):
        free = max(wanted, free + least)
        found[name] = free
    return found
