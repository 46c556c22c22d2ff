"""Watching conflicts: what the topics of decisions tell, from any machine."""
