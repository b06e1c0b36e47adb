"""Ops that a user brings: their files are loaded, what is missing is completed, what fails is explained."""
