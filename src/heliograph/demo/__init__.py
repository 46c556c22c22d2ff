"""Two real clusters, a shop that takes orders, and a mirror between them: to see it work, and to try it out."""
