"""Admission of AgentRuns: one pass decides for all of them and writes `status.admission`."""
