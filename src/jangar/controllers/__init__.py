"""The controllers: they see what is there, let the domain decide, record it and act on it. One folder a kind."""
