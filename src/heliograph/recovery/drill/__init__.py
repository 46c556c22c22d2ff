"""Rehearsals of failover and failback."""
