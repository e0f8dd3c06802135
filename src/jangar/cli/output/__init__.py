"""Output formats: tables for people; JSON, YAML, names and JSONPath for scripts. Knows no kind."""
