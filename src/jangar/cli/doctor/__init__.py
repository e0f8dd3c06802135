"""Diagnoses a control plane: reads facts from its API and runs checks on them."""
