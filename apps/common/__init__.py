"""What applications share: two processes that exchange files, and what is told about them."""
