"""Kinds that the server, the node agent or pods act on."""
