"""Private logistic regression: a model trained on digits that the server never sees."""
