"""What can be wrong with a control plane, found by looking: what is read, and checks that are functions of it."""
