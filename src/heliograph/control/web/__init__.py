"""The web page: plain files, served by the process that mirrors."""
