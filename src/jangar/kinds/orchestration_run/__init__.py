"""OrchestrationRun: one execution of an Orchestration, as a run and as a SubOrchestration step."""
