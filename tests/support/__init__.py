"""Builders and simulators that tests share."""
