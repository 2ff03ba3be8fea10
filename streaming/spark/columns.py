"""The columns of the table of rows (`rows.py`), with their types in the words of Arrow and of Spark."""

COLUMNS = (
    ("cluster", "string", "string"),
    ("topic", "string", "string"),
    ("topic_id", "string", "string"),
    ("partition", "int32", "int"),
    ("offset", "int64", "bigint"),
    ("kind", "string", "string"),
    ("timestamp_ms", "int64", "bigint"),
    ("group", "string", "string"),
    ("protocol_type", "string", "string"),
    ("key", "binary", "binary"),
    ("value", "binary", "binary"),
    ("lifecycle", "string", "string"),
    ("body", "string", "string"),
    ("hole", "int64", "bigint"),
)
# SQL reserves some of the names, so all are quoted.
SPARK_SCHEMA = ", ".join(f"`{name}` {kind}" for name, _, kind in COLUMNS)
