"""AgentRuns: what they run. How it is run is `controllers/job_execution`'s business."""
