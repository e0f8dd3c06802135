"""Where objects live: a log of revisions, committed before any watcher gets them. Knows bytes and keys, no kinds."""
