"""Requests, responses, errors and bodies. Knows HTTP and media types; knows no kind."""
