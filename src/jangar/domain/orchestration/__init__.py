"""What an orchestration means: its graph, what may start, how a run ends, and why.

Imports: jangar.api, jangar.domain.
"""
