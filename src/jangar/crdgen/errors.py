"""Errors for types that a CRD schema cannot express.

CrdgenError
+-- NotExpressible   a field has a type that a structural schema cannot express
+-- RecursiveModel   a model contains itself; structural schemas have no references
"""

from collections.abc import Sequence


class CrdgenError(Exception):
    """Base class of the generator's errors."""


class NotExpressible(CrdgenError):
    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class RecursiveModel(CrdgenError):
    def __init__(self, path: str, models: Sequence[str]) -> None:
        super().__init__(
            f"{path}: {' -> '.join(models)} contains itself, which a structural schema cannot express; "
            "make the inner field an open object"
        )
        self.path, self.models = path, tuple(models)
