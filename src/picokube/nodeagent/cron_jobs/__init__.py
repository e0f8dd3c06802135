"""Reconciles CronJobs: schedule, concurrency policy and history limits."""
