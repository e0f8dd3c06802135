"""The process that runs an agent's command in its container and reports the result.

It imports only the standard library, orjson and the redactor: every container of an agent starts with it.
"""
