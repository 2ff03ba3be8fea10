"""Amazon MSK with IAM: each process that connects signs its own tokens, with the credentials that it finds there.

    configuration   sasl.mechanism: AWS_MSK_IAM, as Java's clients call it; travels like any other property
    librdkafka      sasl.mechanism: OAUTHBEARER, and a callback that signs a token whenever librdkafka asks for one

No credential of Amazon is read by the monitor itself: Amazon's library looks for it in the environment, in profiles and
in the role of the machine. Needs the extra [msk].
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

AWS_MSK_IAM = "AWS_MSK_IAM"
REGION = "aws.region"
"""The one property here that is not librdkafka's: the region, where the names of the brokers do not say it."""
_MECHANISMS = ("sasl.mechanism", "sasl.mechanisms")
_OF_BROKER = re.compile(r"\.kafka(?:-serverless)?\.([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com(?:\.cn)?:")
NOT_INSTALLED = f"sasl.mechanism {AWS_MSK_IAM} needs Amazon's library; install rebalance-monitor[msk]"
NO_CREDENTIALS = (
    "Amazon's library signed no token within 10 s; give this process credentials: a role of its machine or pod, "
    "AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
)
NO_REGION = (
    f"sasl.mechanism {AWS_MSK_IAM} needs {REGION}, such as eu-west-1, because the names of the brokers do not say it"
)


class _Signer(Protocol):
    def generate_auth_token(self, region: str) -> tuple[str, int]:
        """The token, and when it expires in ms."""


def is_amazon(client: Mapping[str, Any]) -> bool:
    return any(client.get(name) == AWS_MSK_IAM for name in _MECHANISMS)


def problem(client: Mapping[str, Any], bootstrap_servers: str) -> str | None:
    """Why no token could be signed for this client; None where nothing stands against it."""
    if not is_amazon(client):
        return f"{REGION} is for sasl.mechanism {AWS_MSK_IAM} alone; remove it" if REGION in client else None
    if client.get("security.protocol") != "SASL_SSL":
        return f"sasl.mechanism {AWS_MSK_IAM} needs security.protocol: SASL_SSL"
    return None if _region(client, bootstrap_servers) else NO_REGION


def connecting(client: Mapping[str, Any]) -> dict[str, Any]:
    """The properties as librdkafka takes them; ImportError with a sentence where Amazon's library is missing."""
    if not is_amazon(client):
        return dict(client)
    kept = {name: value for name, value in client.items() if name not in (*_MECHANISMS, REGION)}
    region = _region(client, str(client.get("bootstrap.servers", "")))
    return {**kept, "sasl.mechanism": "OAUTHBEARER", "oauth_cb": _signing(region)}


def _region(client: Mapping[str, Any], bootstrap_servers: str) -> str:
    found = _OF_BROKER.search(f"{bootstrap_servers}")
    return str(client.get(REGION) or (found[1] if found else ""))


def _signing(region: str) -> Callable[[str], tuple[str, float]]:
    try:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
    except ImportError as why:
        raise ImportError(NOT_INSTALLED) from why
    signer: _Signer = MSKAuthTokenProvider

    def sign(_: str) -> tuple[str, float]:
        """What librdkafka asks for: the token, and when it expires in s."""
        token, expires_ms = signer.generate_auth_token(region)
        return token, expires_ms / 1000

    return sign
