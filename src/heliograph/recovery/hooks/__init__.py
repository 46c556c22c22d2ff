"""The user's own commands and webhooks at the steps of an operation."""
