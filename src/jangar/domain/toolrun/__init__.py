"""What a Tool means: whether it can be run, and what a run of it starts. Pure; imports: jangar.api, jangar.domain."""
