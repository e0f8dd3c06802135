"""One module per version, with upgrade and downgrade."""
