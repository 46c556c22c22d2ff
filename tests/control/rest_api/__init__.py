"""Our own API, asked over real sockets about a real mirror."""
