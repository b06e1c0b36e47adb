"""Every sentence of a report is made here, from values; nothing reads one back."""
