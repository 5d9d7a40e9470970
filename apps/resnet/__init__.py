"""Private image recognition: ResNet-20 on encrypted pictures."""
