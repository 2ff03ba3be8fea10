"""What looks like a secret becomes stars, in as many bytes; what does not stays."""

import pytest

from rebalance_monitor.streaming.core.reading.secrets import masked, secrets_in

SECRET = "hunter2Planted"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"password={SECRET}", "the value of a password"),
        (f'{{"database.password" : "{SECRET}"}}', "the value of a password"),
        (f"SharedAccessKeyName=a;SharedAccessKey={SECRET}", "the value of a password"),
        (f"aws_secret_access_key: {SECRET}", "the value of a password"),
        (f"https://me:{SECRET}@host/x", "credentials in an address"),
        (f"jdbc:postgresql://{SECRET}@db/x", "credentials in an address"),
        (f"ScramLoginModule required\n username=a password={SECRET};", "a line of JAAS"),
        (f"7Bearer {SECRET}", "a header of HTTP"),
        (f"-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----", "a private key"),
        (f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}", "a JSON web token"),
    ],
)
def test_it_is_found_and_replaced(text: str, what: str) -> None:
    raw = b"\x00\x0e" + text.encode() + b"\x00\x01"
    starred, found = masked(raw)
    assert what in found
    assert SECRET.encode() not in starred
    assert len(starred) == len(raw)
    assert list(secrets_in(starred)) == []


@pytest.mark.parametrize(
    "text",
    [
        "connect-127.0.0.1:8083-7e8b1c8a-b0e2-4a9d-8027-f88c6698b231",
        "http://token-service:8083/",
        "secrets-topic",
        "consumer-password-reset-1",
        "password=*****",
    ],
)
def test_a_name_is_none(text: str) -> None:
    assert masked(text.encode()) == (text.encode(), [])
