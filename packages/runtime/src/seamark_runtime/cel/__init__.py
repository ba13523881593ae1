"""The Common Expression Language: parsed into a syntax tree, its cost limited before and while it runs.

- A `Language` is a set of functions and `Limits`. It compiles a text once into a `Program`, which is called with plain
  values.
- Text → tokens → syntax tree (limits: characters, levels, nodes) → estimated cost (loops multiply by the size of what
  they run over) → closures. What is above a limit raises `SyntaxProblem` before anything is evaluated.
- While a program runs, a `Meter` counts its steps; at the end of the budget the evaluation fails with
  `BudgetExceeded`, whatever the estimate was.
- Nothing but `SyntaxProblem` leaves `compile`, and nothing but `CelError` leaves a program.

The package `common-expression-language` does not serve here. It exposes no syntax tree and counts no cost, so a limit
could only look at the text, and a comment between `.` and `map(` defeats that. An evaluation can't be stopped either.
"""

from seamark_runtime.cel.limits import BudgetExceeded, Limits, Meter
from seamark_runtime.cel.program import Language, Program
from seamark_runtime.cel.values import CelError, Optional, SyntaxProblem

__all__ = ["BudgetExceeded", "CelError", "Language", "Limits", "Meter", "Optional", "Program", "SyntaxProblem"]
