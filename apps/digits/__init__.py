"""A network without bootstraps classifies encrypted handwritten digits."""
