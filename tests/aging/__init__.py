"""Internal topics of flows that have run for a year, made in a minute."""
