"""OrchestrationRuns: the planner's decisions made real, child by child."""
