"""The Common Expression Language, with Kubernetes' functions: compiled once, then evaluated over plain values."""

from seamark.cluster.embedded.cel.program import Program, compile_expression
from seamark.cluster.embedded.cel.values import CelError, Optional, SyntaxProblem

__all__ = ["CelError", "Optional", "Program", "SyntaxProblem", "compile_expression"]
