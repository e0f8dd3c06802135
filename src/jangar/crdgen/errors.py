"""What a type can hold that a CRD cannot say.

CrdgenError
+-- NotExpressible   a field has a shape that no structural schema describes
+-- RecursiveModel   a model contains itself; structural schemas cannot refer, so it has no end
"""

from collections.abc import Sequence


class CrdgenError(Exception):
    """Root of everything the generator refuses."""


class NotExpressible(CrdgenError):
    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")
        self.path, self.problem = path, problem


class RecursiveModel(CrdgenError):
    def __init__(self, path: str, models: Sequence[str]) -> None:
        super().__init__(
            f"{path}: {' -> '.join(models)} contains itself, which a structural schema cannot say; "
            "make the inner field an open object"
        )
        self.path, self.models = path, tuple(models)
