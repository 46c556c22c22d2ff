"""What goes along with the records: topics, settings and rights, and whether a target is fit for them."""
