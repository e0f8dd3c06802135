"""Patches: merge, JSON, strategic and server-side apply, with the ownership of fields. Pure: values in, values out."""
