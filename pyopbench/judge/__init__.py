"""From a `Run` to verdicts, findings and one decision for each op and use."""
