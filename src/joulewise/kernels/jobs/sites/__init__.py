"""Compiled code for sites: nodes of several resources that jobs may share, in partitions."""
