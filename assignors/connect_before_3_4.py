"""placeholder"""
from typing import Any
def balance(*a: Any) -> Any:
    raise NotImplementedError
