"""What the kinds of several systems share: methods, seeds, columns of searches, and words on bounds."""
