"""A network classifies as many encrypted digits at once as slots hold: one image a slot."""
