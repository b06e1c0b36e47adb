"""Forms of an op that take a batch of examples at once, made out of what takes one example; `forms` lists them."""
