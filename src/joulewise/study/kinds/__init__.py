"""What a kind of study and a system is, and where they are found."""
