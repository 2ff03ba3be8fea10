"""The assignors of plain consumers: one snapshot in, one assignment out."""
