"""A step kind that only the tests have: a Question that a person answers. Its answer is the step's output."""
