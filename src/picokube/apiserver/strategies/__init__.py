"""What kinds do beyond their schemas: defaults, validation, immutability, table cells. No storage, no requests."""
