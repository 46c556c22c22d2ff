"""From the text of an mm2.properties file to a checked, typed configuration."""
