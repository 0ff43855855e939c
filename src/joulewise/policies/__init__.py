"""How a manager decides: tables of policies, their objectives, and the door for a user's own."""
