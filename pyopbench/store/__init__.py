"""From files on disk to a `Run`: what is stored is checked while it is read."""
