"""The kinds of the API group agents.proompteng.ai: agents, their tasks and their runs."""

GROUP = "agents.proompteng.ai"
