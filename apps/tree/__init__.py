"""Private decision trees: flowers classified without being seen."""
