"""From a program to a faster program: records it, decides for each callback, applies the ports to a copy, compares."""
