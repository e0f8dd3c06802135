"""AgentRun: one execution of an Agent, as a run and as a step."""
