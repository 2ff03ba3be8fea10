"""What `advise` computes of another setting, against a real cluster that has it."""
