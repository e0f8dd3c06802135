"""ToolRun: one execution of a Tool, as a run and as a step."""
