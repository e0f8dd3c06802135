"""What a request to cancel means, for runs and children alike. Imports: jangar.api, jangar.domain."""
