"""Why a run and its steps are as they are, as lines: the words of the rules, chosen and laid out."""

from collections.abc import Sequence
from typing import Any, Final

from jangar.api.phases import Phase
from jangar.cli.api_session import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.cli.output.cells import padded, shorten, wrap
from jangar.cli.runs.reading import ReadRun
from jangar.cli.runs.step_data import one_step_lines, step_data
from jangar.cli.terminal import folded, printable
from jangar.domain.orchestration.explain import Explanation, explain_run, explain_step
from jangar.domain.orchestration.message_text import Guesses
from jangar.operations import run_documents as documents

MIN_NAME: Final = 12
MIN_SENTENCE: Final = 30


def explained(read: ReadRun, step: str) -> Sequence[Explanation]:
    """Of one step, or of all that did not succeed. Raises Failure if there is no such step."""
    if read.view is None:
        return ()
    if not step:
        return explain_run(read.view)
    found = explain_step(read.view, step)
    if found is None:
        names = read.view.definition.graph.names
        near = Guesses(list(names)).nearest(step)
        hint = f"; did you mean {near}?" if near else f"; it has {', '.join(names[:20])}"
        raise Failure(f"{read.identity.name} has no step {step}{hint}", ExitCode.NOT_FOUND)
    return (found,)


def lines(read: ReadRun, found: Sequence[Explanation], *, width: int | None) -> list[str]:
    """The run, then a sentence for each step, with what the step was given and returned."""
    lifecycle = read.record.lifecycle
    phase = lifecycle.phase or Phase.PENDING
    why = f": {lifecycle.message}" if lifecycle.message else ""
    reason = f" ({lifecycle.reason})" if lifecycle.reason and lifecycle.reason != str(phase) else ""
    head = printable(f"{read.identity.name} is {phase}{reason}{why}")
    reported = folded(head, width) if width else [head]
    data = {item.step: item for item in step_data(read)}
    longest = max((len(item.step) for item in found), default=0)
    names = longest if width is None else min(longest, max(width // 3, MIN_NAME))
    indent = " " * (names + 4)
    for item in found:
        said = printable(_said(item))
        first, *further = wrap(said, max(width - len(indent), MIN_SENTENCE)) if width else [said]
        reported.append(f"  {padded(shorten(item.step, names), names)}  {first}")
        reported += [f"{indent}{line}" for line in further]
        if item.step in data:
            reported += one_step_lines(data[item.step], indent=indent, width=width)
    return reported


def explained_document(read: ReadRun, found: Sequence[Explanation]) -> dict[str, Any]:
    """The same for scripts, with whole values."""
    document = documents.explained(read, found)
    data = {item.step: item for item in step_data(read)}
    for step in document["steps"]:
        known = data.get(step["name"])
        step["inputs"] = dict(known.inputs) if known else {}
        step["outputs"] = dict(known.outputs) if known else {}
    return document


def _said(found: Explanation) -> str:
    """The phase and the sentence, which often begins with the same word."""
    phase, sentence = str(found.phase), found.sentence
    if sentence.lower().startswith(phase.lower()):
        return phase + sentence[len(phase) :]
    return f"{phase}: {sentence}"
