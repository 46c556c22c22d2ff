"""What a flow writes down on its target: who owns it, what was copied where, how far it is."""
