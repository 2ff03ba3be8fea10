"""Classic consumer groups: verdict, causes and rules of one generation."""
