"""What single kinds do beyond their schemas: defaults, validation, immutability. No storage, no requests."""
