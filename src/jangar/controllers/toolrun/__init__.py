"""ToolRuns: one Job at a time, from its intent to its release."""
