"""Tables, representations and responses to writes."""
