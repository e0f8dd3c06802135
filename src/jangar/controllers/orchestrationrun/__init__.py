"""The controller of OrchestrationRuns: executes the planner's decisions."""
