"""Encrypted digits by a network of tables: client, server and training."""
