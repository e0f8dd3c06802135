"""Where objects live: a log of revisions, committed before anybody hears of them. Knows bytes and keys, no kinds."""
