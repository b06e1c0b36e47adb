"""From a `Run` to verdicts and one decision for each op and use."""
