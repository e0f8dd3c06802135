"""One module per group of verbs: from a request to a response. Knows no kind by name."""
