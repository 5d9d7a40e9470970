"""Private sensors: readings compared with thresholds and rounded, neither being seen."""
