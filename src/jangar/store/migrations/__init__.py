"""Migrations of the history database. Programs migrate forward when they open it; operators can migrate back."""
