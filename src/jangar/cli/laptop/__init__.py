"""The laptop's control plane as the command line starts, finds, describes and stops it."""
