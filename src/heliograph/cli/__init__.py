"""The command line: one file per command. Commands return data; `output` is the only place that prints."""
