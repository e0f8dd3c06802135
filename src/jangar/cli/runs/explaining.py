"""Why a run and its steps are as they are, as lines: the words of the rules, chosen and laid out."""

from collections.abc import Sequence

from jangar.api.phases import Phase
from jangar.cli.asking import Failure
from jangar.cli.exit_codes import ExitCode
from jangar.cli.runs.reading import ReadRun
from jangar.domain.orchestration.explain import Explanation, explain_run, explain_step
from jangar.domain.orchestration.wording import Guesses


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


def lines(read: ReadRun, found: Sequence[Explanation]) -> list[str]:
    lifecycle = read.record.lifecycle
    phase = lifecycle.phase or Phase.PENDING
    why = f": {lifecycle.message}" if lifecycle.message else ""
    reason = f" ({lifecycle.reason})" if lifecycle.reason and lifecycle.reason != str(phase) else ""
    wide = max((len(each.step) for each in found), default=0)
    head = f"{read.identity.name} is {phase}{reason}{why}"
    return [head, *(f"  {each.step:<{wide}}  {_said(each)}" for each in found)]


def _said(found: Explanation) -> str:
    """The phase and the sentence, which often begins with the same word."""
    phase, sentence = str(found.phase), found.sentence
    if sentence.lower().startswith(phase.lower()):
        return phase + sentence[len(phase) :]
    return f"{phase}: {sentence}"
