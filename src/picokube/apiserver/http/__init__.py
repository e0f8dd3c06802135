"""ASGI application and dispatch."""
