"""Children that run a Job, whatever their kind: one Job at a time, from its intent to its release."""
