"""SVG by hand: scales, axes and marks. Colours and type are the page's: a mark has a class, never a colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

TIMES = "\u00d7"
LABEL = 6.4  # pixels that a character of a label takes


@dataclass(frozen=True)
class Scale:
    """From values to pixels. A logarithmic one has no zero: what is below its least value is drawn there."""

    least: float
    most: float
    start: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = self._turned(self.least), self._turned(self.most), self._turned(max(value, self.least))
        share = (at - low) / (high - low) if high > low else 0.5
        return round(self.start + share * (self.end - self.start), 1)

    def _turned(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value

    def ticks(self, about: int = 5) -> list[float]:
        return powers(self.least, self.most) if self.logarithmic else steps(self.least, self.most, about)


def steps(least: float, most: float, about: int) -> list[float]:
    """Round numbers from least to most, at a distance of 1, 2 or 5 times a power of ten."""
    if most <= least:
        return [least]
    rough = (most - least) / about
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * 0.999)
    first = math.ceil(least / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(most / step + 1e-9) + 1)]


def powers(least: float, most: float) -> list[float]:
    """Powers of ten; with 2 and 5 of each where they are few."""
    low, high = math.floor(math.log10(least)), math.ceil(math.log10(most))
    times = (1, 2, 5) if high - low <= 3 else (1,)
    found = [round(time * 10**power, 6) for power in range(low, high + 1) for time in times]
    return [value for value in found if least * 0.999 <= value <= most * 1.001]


def rounded_up(value: float, about: int = 5) -> float:
    """The end of an axis that begins at zero."""
    if value <= 0:
        return 1.0
    step = steps(0, value, about)
    distance = step[1] - step[0] if len(step) > 1 else value
    return math.ceil(value / distance - 1e-9) * distance


def number(value: float) -> str:
    """As short as it can be and still differ from its neighbours."""
    if value >= 1000:
        return f"{value:,.0f}".replace(",", "\u202f")
    return f"{value:.3g}"


@dataclass
class Canvas:
    """A drawing of a given size; `title` is what it says to those who do not see it."""

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def line(self, points: Sequence[tuple[float, float]], style: str) -> None:
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self.parts.append(f'<polyline class="{style}" points="{path}"/>')

    def rectangle(self, at: tuple[float, float], size: tuple[float, float], style: str, tip: str = "") -> None:
        (x, y), (width, height) = at, size
        shape = f'x="{x:g}" y="{y:g}" width="{max(width, 0):g}" height="{max(height, 0):g}"'
        self.parts.append(f'<rect class="{style}" {shape} rx="1.5">{_tip(tip)}</rect>')

    def dot(self, at: tuple[float, float], radius: float, style: str, tip: str = "") -> None:
        self.parts.append(f'<circle class="{style}" cx="{at[0]:g}" cy="{at[1]:g}" r="{radius:g}">{_tip(tip)}</circle>')

    def text(self, at: tuple[float, float], words: str, style: str = "", anchor: str = "start") -> None:
        place = f'x="{at[0]:g}" y="{at[1]:g}" text-anchor="{anchor}"'
        self.parts.append(f'<text class="{style}" {place}>{escape(words)}</text>')

    def across(self, scale: Scale, top: float, bottom: float, told: Callable[[float], str] = number) -> None:
        """An axis below, with a quiet line up from each tick. Ticks whose labels would touch are left out."""
        free = -math.inf
        for value in scale.ticks():
            x, words = scale(value), told(value)
            half = LABEL * len(words) / 2
            if x - half < free:
                continue
            free = x + half + LABEL
            self.line([(x, top), (x, bottom)], "grid")
            self.text((x, bottom + 17), words, "tick", "middle")

    def upward(self, scale: Scale, left: float, right: float, told: Callable[[float], str] = number) -> None:
        """An axis at the left, with a quiet line across at each tick."""
        for value in scale.ticks(4):
            y = scale(value)
            self.line([(left, y), (right, y)], "grid")
            self.text((left - 8, y + 4), told(value), "tick", "end")

    def svg(self) -> str:
        widths = f"max-width:{self.width}px;min-width:{0.62 * self.width:.0f}px"
        size = f'viewBox="0 0 {self.width} {self.height}" style="{widths}"'
        inner = "\n".join(self.parts)
        return f'<svg {size} role="img" aria-label="{escape(self.title)}">\n{inner}\n</svg>'


def _tip(words: str) -> str:
    return f"<title>{escape(words)}</title>" if words else ""
