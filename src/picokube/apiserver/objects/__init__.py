"""Creating, changing, deleting and selecting objects: the order of checks, whatever the verb."""
