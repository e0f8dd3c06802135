"""The planner: from an observation of a run to its next status and actions."""
