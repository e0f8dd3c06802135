"""The process that starts containers and remembers how they ended; it outlives the agent.

Only the standard library, and as little of it as possible: what is loaded here is copied at every start of a container.
"""
