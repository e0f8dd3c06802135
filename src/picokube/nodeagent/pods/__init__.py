"""Runs pods as local processes: validates, plans, starts and stops their containers, and reports their status."""
