"""The catalogue of ops: one file each, ending `OP = Op(...)`; a file whose name starts with an underscore is no op."""
