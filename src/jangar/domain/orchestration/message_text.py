"""Names in messages: quoted, shortened, and with the most similar known name."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import islice

MAX_QUOTED = 80
MAX_PATH = 20
MAX_LISTED = 10
_MIN_SIMILARITY = 0.6
_MAX_GUESS_LENGTH = 253
_BUDGET = 4_000_000
_COMPARE_COST = 100
MAX_COMPARED = 200
"""Names that a controller compares with a wrong one; a limit, because other runs wait meanwhile."""


def quoted(text: str) -> str:
    """The text in double quotes, on one line and shortened."""
    return f'"{_one_line(text)}"'


def arrows(names: Sequence[str]) -> str:
    """A path `a -> b -> a`; the middle of a long one is replaced by its length."""
    half = MAX_PATH // 2
    if len(names) <= MAX_PATH:
        return " -> ".join(_one_line(name) for name in names)
    first, last = map(_one_line, names[:half]), map(_one_line, names[-half:])
    return " -> ".join([*first, f"({len(names) - MAX_PATH} more)", *last])


def _one_line(text: str) -> str:
    """The text on one line, shortened."""
    short = text if len(text) <= MAX_QUOTED else text[:MAX_QUOTED] + "…"
    return "".join(item if item.isprintable() else ascii(item)[1:-1] for item in short)


class Guesses:
    """Finds the known name that is most similar to a wrong one.

    Comparing takes time, so one set of guesses spends a fixed budget and then answers only where names differ
    in case, `-` and `_`: ten thousand typing errors cost no more than a few.
    """

    def __init__(self, known: Iterable[str]) -> None:
        self._known = tuple(dict.fromkeys(known))
        self._folded: dict[str, str] = {}
        for name in self._known:
            self._folded.setdefault(_folded(name), name)
        self._left = _BUDGET

    def nearest(self, wrong: str) -> str | None:
        """The most similar known name, the first of equals; None if none is similar enough."""
        if len(wrong) > _MAX_GUESS_LENGTH:
            return None
        same_folded = self._folded.get(_folded(wrong))
        return self._most_similar(wrong) if same_folded is None and self._left >= 0 else same_folded

    def fix(self, wrong: str, otherwise: str) -> str:
        """The fix for a wrong name, as a sentence."""
        found = self.nearest(wrong)
        return otherwise if found is None else f"did you mean {quoted(found)}?"

    def _most_similar(self, wrong: str) -> str | None:
        matcher = SequenceMatcher(b=wrong, autojunk=False)
        best, best_ratio = None, _MIN_SIMILARITY
        for name in self._known:
            if self._left < 0:
                return None
            self._left -= _COMPARE_COST
            matcher.set_seq1(name)
            if matcher.real_quick_ratio() >= best_ratio and matcher.quick_ratio() >= best_ratio:
                self._left -= len(name) * len(wrong)
                ratio = matcher.ratio()
                if ratio > best_ratio or (best is None and ratio == best_ratio):
                    best, best_ratio = name, ratio
        return best


def does_not_exist(kind: str, name: str, known: Iterable[str]) -> str:
    """The message that an object does not exist, with the most similar name of the namespace."""
    names = list(islice(known, MAX_COMPARED))
    nearest = Guesses(names).nearest(name)
    guess = f"; did you mean {quoted(nearest)}?" if nearest else ""
    return f"{kind} {quoted(name)} does not exist{guess}"


def _folded(name: str) -> str:
    return name.lower().replace("_", "-")


def some_of(names: Sequence[str]) -> str:
    """The first names of a list, quoted, and how many more there are."""
    shown = ", ".join(quoted(name) for name in names[:MAX_LISTED])
    more = len(names) - MAX_LISTED
    return f"{shown} and {more} more" if more > 0 else shown
