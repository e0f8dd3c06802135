"""What operators let AgentRuns do: one decision over all of them. Pure: no I/O, no clock."""
