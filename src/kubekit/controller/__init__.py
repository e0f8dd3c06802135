"""Runs reconcilers: work queues, backoff, quarantine and the watchdog."""
