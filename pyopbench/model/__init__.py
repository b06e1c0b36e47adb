"""What everything else stands on: nouns, errors, formatting, and which files there are to choose from."""
