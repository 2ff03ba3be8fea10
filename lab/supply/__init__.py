"""What is delivered: which packages, with which hashes, and what is known against them."""
