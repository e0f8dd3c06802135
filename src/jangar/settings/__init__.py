"""Settings: one table of environment variables, read once at startup. Imports: jangar.api, jangar.domain."""
