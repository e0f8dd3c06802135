"""What a kind is: names, schema, verbs, metadata rules, and how it is stored. Knows no strategy."""
