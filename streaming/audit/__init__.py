"""Data contracts: what holds in every published table, restated in SQL apart from the code that writes the rows.

What a column has in common with the document of its row, `core/tables.py` says to both.
"""
