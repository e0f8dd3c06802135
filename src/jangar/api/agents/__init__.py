"""The kinds of group agents.proompteng.ai: what an agent is, what it should do, and one execution of it."""

GROUP = "agents.proompteng.ai"
