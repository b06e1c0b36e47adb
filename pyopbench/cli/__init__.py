"""The command line: commands, which parse, call one function and print, and what they share."""
