"""The process that starts containers and records how they end. It outlives the agent.

Imports only the standard library, and as little of it as possible: every start of a container forks this process.
"""
