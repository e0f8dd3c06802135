"""The object that a step of kind AskPerson creates. The person who answers writes its status."""

from pydantic import Field

from jangar.api.kind import Kind
from jangar.api.meta import ApiModel, ObjectStatus


class QuestionSpec(ApiModel):
    """A question to a person."""

    text: str = Field(description="The question.")
    withdrawn: bool | None = Field(None, description="true: the answer is not needed any more.")


class QuestionStatus(ObjectStatus):
    """The answer."""

    answer: str | None = Field(None, description="The answer.")
    closed: bool | None = Field(None, description="true once a withdrawn question is closed.")


QUESTION = Kind(
    group="example.proompteng.ai",
    name="Question",
    plural="questions",
    short_names=(),
    description="A question to a person.",
    spec=QuestionSpec,
    status=QuestionStatus,
)
