"""CEL as in the API server: with Kubernetes' functions, and a limit on the steps of one evaluation."""

from seamark_cluster.embedded.cel.kubernetes import LIBRARY
from seamark_runtime.cel import CelError, Language, Limits, Optional, Program, SyntaxProblem
from seamark_runtime.cel.library import STANDARD

__all__ = ["CelError", "Optional", "Program", "SyntaxProblem", "compile_expression"]

# The API server also estimates costs from the schema and refuses rules by that; here only the budget limits them.
_KUBERNETES = Language(
    STANDARD | LIBRARY, Limits(length=100_000, depth=100, nodes=20_000, budget=1_000_000, text=1_000_000)
)


def compile_expression(text: str) -> Program:
    """The program of an expression; equal expressions share one."""
    return _KUBERNETES.compile(text)
