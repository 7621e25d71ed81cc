"""Red teaming: requests that hide what they ask for, and a guard that has to tell them apart."""
