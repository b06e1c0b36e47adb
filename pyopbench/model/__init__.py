"""The base of everything else: nouns, errors, formatting, and which files there are to choose from."""
