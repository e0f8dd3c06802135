"""Runs the Jobs, CronJobs and Pods of a Kubernetes API as local processes. Independent of Jangar.

Planning is pure. A separate supervisor process keeps containers alive when the agent dies. Imports: kubekit only.
"""
