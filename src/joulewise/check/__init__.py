"""The independent validator: what any allocation must satisfy, and its value computed a second time."""
