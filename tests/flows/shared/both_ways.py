"""Two flows of the shared mirror that face each other."""

ALIASES = ("oslo", "rome")
TOPIC = "both-ways"
OPTIONS = {f"{one}->{two}.topics": rf".*{TOPIC}" for one, two in (ALIASES, ALIASES[::-1])}
