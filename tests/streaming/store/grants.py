"""The GRANTs that docs/maintenance.md gives, as a user would run them."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "maintenance.md"


def operator_grants(role: str) -> list[str]:
    """The statements for the role that writes windows, for a role of this name."""
    block = re.search(r"```sql\n-- the operators' role.*?```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    sql = re.sub(r"--.*", "", block[0].removeprefix("```sql").removesuffix("```"))
    statements = [one.strip() for one in sql.split(";") if one.strip()]
    return [one.replace("rebalance_operators", role) for one in statements if not one.startswith("create role")]
