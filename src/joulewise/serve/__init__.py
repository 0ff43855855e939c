"""The workbench: studies looked at, asked what-if and run, in a browser on this machine."""
