"""Finds Python callbacks in sources and graphs, and drafts an own op of one."""
