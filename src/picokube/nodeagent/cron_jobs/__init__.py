"""CronJobs: when a job is due, what to do with one that still runs, and how many finished ones are kept."""
