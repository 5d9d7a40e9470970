"""What BGV and CKKS share: arrays of vectors, keys, parameters, plans and servers."""
