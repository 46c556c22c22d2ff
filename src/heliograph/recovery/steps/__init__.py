"""The steps that operations are made of."""
