"""One module a command. At its top it imports what `--help` needs and nothing more."""
