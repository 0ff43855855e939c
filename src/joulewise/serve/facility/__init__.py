"""The pages of studies of a facility."""
