"""Secrets are hidden wherever a text has them, in linear time, and sentences stay readable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seamark_runtime.conditions import LONGEST_MESSAGE, ConditionType
from seamark_runtime.redaction import HIDDEN, is_secret_flag, redact

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl"
KEY = "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIIrY\n-----END EC PRIVATE KEY-----"

ASSIGNED = {
    "login --password hunter2 --user me": f"login --password {HIDDEN} --user me",
    "login --db-password=hunter2 --user me": f"login --db-password={HIDDEN} --user me",
    "login -password 'hunter2 x' me": f"login -password {HIDDEN} me",
    '["login","--password","hunter2"]': f'["login","--password",{HIDDEN}]',
    "args:\n- --token\n- hunter2\n- -v": f"args:\n- --token\n- {HIDDEN}\n- -v",
    "password: hunter2": f"password: {HIDDEN}",
    "db:\n  password: hunter2 and more\n  user: me": f"db:\n  password: {HIDDEN}\n  user: me",
    "db:\n  password: |\n    hunter2\n    hunter2\nuser: me": f"db:\n  password: {HIDDEN}\nuser: me",
    "- token: hunter2": f"- token: {HIDDEN}",
    "spring.datasource.password: hunter2": f"spring.datasource.password: {HIDDEN}",
    "login failed, password: hunter2": f"login failed, password: {HIDDEN}",
    "client_secret: hunter2": f"client_secret: {HIDDEN}",
    "{password: hunter2, user: me}": f"{{password: {HIDDEN}, user: me}}",
    '{"password":"hunter2","user":"me"}': f'{{"password":{HIDDEN},"user":"me"}}',
    '{"token": "hunter\\"2", "user": "me"}': f'{{"token": {HIDDEN}, "user": "me"}}',
    "{'apiKey': 'hunter2'}": f"{{'apiKey': {HIDDEN}}}",
    "DB_PASSWORD=hunter2 USER=me": f"DB_PASSWORD={HIDDEN} USER=me",
    'export API_KEY="hunter2 x"': f"export API_KEY={HIDDEN}",
    "password=hun,ter2;x at once": f"password={HIDDEN} at once",
    "credentials: hunter2": f"credentials: {HIDDEN}",
    "redis://:hunter2@host": f"redis://{HIDDEN}@host",
    "Authorization: Basic aHVudGVyMg==": f"Authorization: {HIDDEN}",
    'password="hunter2': f"password={HIDDEN}",
}

READABLE = [
    "the password is wrong",
    "the token: not valid any more",
    "Secret default/web-tls is not there",
    "secretName: web-tls",
    "spec.tls[0].secretName: web-tls",
    "tokenSecretRef: it names no Secret",
    "--token-file /var/run/token",
    "PASSWORD_FILE=/run/password",
    "user-password reset is done",
    "no token for the namespace: it is missing",
    "token == 'x'",
    "containers.main.variables.DB_PASSWORD: ${resources.db.x} names nothing: db gives host",
]


@pytest.mark.parametrize(("text", "safe"), ASSIGNED.items())
def test_a_value_of_a_secret_name_is_hidden(text: str, safe: str) -> None:
    assert redact(text) == safe


@pytest.mark.parametrize("text", READABLE)
def test_ordinary_words_and_places_of_secrets_stay(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("text", [*ASSIGNED, *READABLE, f"a {JWT} b", KEY])
def test_to_redact_again_changes_nothing(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@given(st.text(st.sampled_from("password:=-\"' \n{}[],x&@/|token"), max_size=60))
def test_any_text_is_redacted_within_its_limit(text: str) -> None:
    assert len(redact(text, 20)) <= 20


SECRETS = {
    f"token {JWT} expired": "eyJhbG",
    "GET https://me:hunter2@host/x": "hun",
    "Bearer hunter2hunter2 is refused": "hun",
    f"key {KEY} is bad": "MHc",
    "login --password hunter2": "hun",
    'the answer is {"password": "hunter2 hunter2"}': "hun",
    "password: hunter2": "hun",
}


@pytest.mark.parametrize(("text", "part"), SECRETS.items())
def test_no_part_of_a_secret_shows_wherever_the_text_is_cut(text: str, part: str) -> None:
    assert part in text
    for longest in range(1, len(text) + 1):
        assert part not in redact(text, longest), longest
        assert len(redact(text, longest)) <= longest


def test_a_condition_is_shortened_before_it_is_redacted() -> None:
    condition = ConditionType("Ready", meaning="", reasons={"Bad": ""}).false("Bad", "x " * 20_000 + f"{JWT} " * 20_000)
    assert len(condition.message) <= LONGEST_MESSAGE
    assert "eyJhbG" not in condition.message


@pytest.mark.parametrize(
    ("argument", "secret"),
    [
        ("--password", True),
        ("-token", True),
        ("--api-key", True),
        ("--token-file", False),
        ("--user", False),
        ("", False),
    ],
)
def test_a_flag_says_whether_the_next_argument_is_secret(argument: str, secret: bool) -> None:
    assert is_secret_flag(argument) is secret


def test_control_characters_are_shown_as_escapes() -> None:
    """A message that quotes a tenant's text is read in a terminal."""
    assert redact("a\x1b[2J\x1b]0;x\x07b\r\0\x9b") == r"a\x1b[2J\x1b]0;x\x07b\r\x00\x9b"
    assert redact("user\u202egnp.exe\u2066") == r"user\u202egnp.exe\u2066"
    assert redact("two\n\tlines, übung, 日本") == "two\n\tlines, übung, 日本"
    assert len(redact("\x1b" * 100, 50)) == 50


def test_a_control_character_hides_no_secret_from_the_patterns() -> None:
    assert redact("Authorization: Bearer\r\nabcdefgh12345678") == "Authorization: [redacted]"
