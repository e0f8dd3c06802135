"""How answers look: tables for people, JSON, YAML, names and paths for scripts. Knows no kind."""
