"""What has ended is stored before it is deleted."""
