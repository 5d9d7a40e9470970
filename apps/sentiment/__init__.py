"""A recurrent network that classifies encrypted sentences."""
