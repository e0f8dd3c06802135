"""One verb a file: from a request to a change or an answer. Knows no kind by name."""
