"""What looks like a secret becomes stars, in as many bytes; what does not stays."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_monitor.streaming.core.reading.secrets import masked, masked_values, secrets_in

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
        (f"password=grün{SECRET}", "the value of a password"),
        (f"password=a*{SECRET}", "the value of a password"),
        (f"password=zz*{SECRET}", "the value of a password"),
        (f'{{\\"database.password\\":\\"{SECRET}\\"}}', "the value of a password"),
        (f'password="two words; {SECRET}"', "the value of a password"),
        (f'"password":"a\\"{SECRET}"', "the value of a password"),
        (f'PlainLoginModule required username="a" password="ab;{SECRET}";', "a line of JAAS"),
        (f'PlainLoginModule required username=\\"a\\" password=\\"a*{SECRET}\\";', "a line of JAAS"),
        (f"jdbc:postgresql://app:p@{SECRET}@db/x", "credentials in an address"),
        (f"jdbc:postgresql://app:p/{SECRET}@db/x", "credentials in an address"),
        (f"https://a.example/c?sv=1&sig={SECRET}%3D&se=2", "a signature in an address"),
        (f"basic.auth.user.info=user:{SECRET}", "the value of a password"),
        (f"x?password%3D{SECRET}", "the value of a password"),
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
        'password="*****"',
        "http://worker-1:8083/,http://worker-2:8083/",
        "token:8083",
    ],
)
def test_a_name_is_none(text: str) -> None:
    assert masked(text.encode()) == (text.encode(), [])


def test_a_number_behind_a_space_is_a_secret_and_a_port_is_none() -> None:
    assert masked(b"password: 12345")[0] == b"password: *****"


plain = st.text(st.sampled_from("a*\"\\ 'ü;={}:@/") | st.characters(exclude_categories=["Cs"]), max_size=20)
begun = st.sampled_from(["password=", "password: ", 'secret="', "x://u:", "LoginModule required password="])
texts = plain | st.builds(str.__add__, begun, plain)


@given(
    st.recursive(
        texts, lambda one: st.lists(one, max_size=3) | st.dictionaries(texts | st.just("password"), one, max_size=3)
    ),
    st.integers(0, 2),
)
def test_what_is_starred_holds_none_and_json_stays_json(value: Any, quoted: int) -> None:
    for _ in range(quoted):
        value = {"password": json.dumps(value, ensure_ascii=False), "text": json.dumps(value)}
    raw = json.dumps(value, ensure_ascii=False).encode()
    starred, _ = masked(raw)
    assert list(secrets_in(starred)) == []
    assert len(starred) == len(raw)
    starred.decode()
    for text in json.dumps(masked_values(value, lambda one: masked(one)[0])).splitlines():
        json.loads(text)
