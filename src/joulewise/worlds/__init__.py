"""What makes a model: published generators, tables from files, measures of heterogeneity."""
