"""What is kept how long, and what may be deleted now. Pure; imports: jangar.api, jangar.domain."""
