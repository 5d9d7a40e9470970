"""Networks on encrypted vectors."""
