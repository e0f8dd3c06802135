"""Pods as local processes: what they may ask for, what their containers get, and what becomes of them."""
