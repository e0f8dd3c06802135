"""The process that runs an agent's command in its container: files, environment, output, end and report.

Stands alone: imports the standard library and orjson, nothing of this product, so that it starts at once.
"""
