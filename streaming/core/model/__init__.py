"""What passes between the rooms of the core: records, results, subjects, settings and their codec."""
