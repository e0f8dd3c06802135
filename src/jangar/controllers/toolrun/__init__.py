"""ToolRuns: what they run. How it is run is `controllers/work`'s business."""
