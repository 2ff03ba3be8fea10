"""Data contracts: what holds in every published table, restated in SQL apart from the code that writes the rows."""
