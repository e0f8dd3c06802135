"""Step kinds that the API accepts but this version does not implement."""
