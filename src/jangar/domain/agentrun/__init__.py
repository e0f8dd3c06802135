"""What an agent run means beyond its one Job. Imports: jangar.api, jangar.domain."""
