"""What operators can set: one table of environment variables, read once. Imports: jangar.api, jangar.domain."""
