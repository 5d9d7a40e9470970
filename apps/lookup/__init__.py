"""Private look-up: rows of a server's table, without the server learning which."""
