"""Secrets never leave: not in a status, an event, a log line, a metric or a support bundle.

- Hidden are texts that look like a secret (tokens, private keys, credentials in URLs), and values that are assigned to
  a name that sounds secret: `password=x`, `--password x`, `"password": "x"`, `password: x`.
- Only the value after the sign is hidden, so sentences stay readable. In front of a colon, "token" and "secret" alone
  are ordinary words: they count in quotes, as a part of a longer name, or as a line that has one word for its value.
- A name that ends in name, ref, file or path says where a secret is; its value stays.
- Control characters, and those that change the direction of a text, are written as escapes: a message may quote what a
  tenant has written, and is read in a terminal. Line breaks and tabs stay.
- The time is linear in the text. A long text is shortened first; a secret that is cut by that is hidden as well.
"""

from __future__ import annotations

from seamark_runtime.untrusted.patterns import Match, Pattern

HIDDEN = "[redacted]"
_CONTROLS = (*range(0x20), *range(0x7F, 0xA0), *range(0x200E, 0x2010), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ESCAPED = {code: ascii(chr(code))[1:-1] for code in _CONTROLS if chr(code) not in "\n\t"}
SECRET_NAMES = Pattern(
    r"token|password|passwd|passphrase|secret|authorization|api[ _-]?key|access[_-]?key|private|credential",
    ignore_case=True,
)

_STRONG = r"(?:pass(?:word|wd|phrase)|api[ _-]?key|access[_-]?key|private[_-]?key|credential|authorization)"
_WEAK = r"(?:token|secret)"
_ANY = rf"(?:{_STRONG}|{_WEAK})"
_CLEAR = rf"(?:[\w-]*{_STRONG}[\w-]*|[\w-]+{_WEAK}[\w-]*)"  # names that are nothing but the name of a secret
_PLACE = r"(?:name|refs?|file|path)"
_QUOTED = r"\"(?:[^\"\\]|\\.)*\"?|'[^']*'?"
_UNQUOTED = r"[^\s&'\"=][^\s&'\"]*[^\s&'\",;)}\]]|[^\s&'\"=,;)}\]]"
_VALUE = rf"(?:\[redacted\]|{_QUOTED}|(?:basic|bearer|digest|negotiate)[ \t]+\S+|{_UNQUOTED})"
_BLOCK = r"[|>][-+0-9]*[ \t]*(?:\n[ \t]+[^\n]*)+"  # a text of several lines in YAML
_KEY_OF_LINE = r"^[ \t]*(?:-[ \t]+)?[\"']?"

# Anything that one of the patterns below can match has one of these in it: most texts have none.
_SUSPICIOUS = Pattern(r"bearer|eyj|-----begin|://|token|pass|secret|key|credential|authorization", ignore_case=True)
_TOKENS = Pattern(
    r"(?i:bearer)\s+[\w.~+/=-]{8,}"  # an authorization header
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    dot_newline=True,
)
_URL = Pattern(r"://[^\s/:@]*:[^\s/@]+@")
_CUT = Pattern(r"(?:(?i:bearer)\s+\S*|eyJ[\w.-]*|://[^\s/]*)$")  # the beginning of a secret at the end of a text

# In each of these, group 1 is a place and stays, and group 2 is what stands in front of a hidden value.
_LINES = Pattern(
    rf"(?im)({_KEY_OF_LINE}[\w.-]*{_ANY}[\w-]*{_PLACE}[\"']?[ \t]*:)"
    rf"|({_KEY_OF_LINE}{_CLEAR}[\"']?[ \t]*:[ \t]+)(?:{_BLOCK}|{_QUOTED}|[^\s\"'][^\n]*)"
    rf"|({_KEY_OF_LINE}[\w.-]*{_ANY}[\w-]*[\"']?[ \t]*:[ \t]+)(?:{_BLOCK}|{_VALUE}[ \t]*(?:#[^\n]*)?$)"
)
_FLAGS = Pattern(
    rf"(?i)((?:^|[\s\"'\[,=])--?[\w-]*{_ANY}[\w-]*{_PLACE}\b)"
    rf"|((?:^|[\s\"'\[,=])--?[\w-]*{_ANY}[\w-]*(?:[\"']?[ \t]*,[ \t]*|[ \t]*\n[ \t]*-[ \t]+|[ \t]+))"
    rf"(?:\[redacted\]|{_QUOTED}|[^\s\"'-][^\s\"']*)"
)
_INLINE = Pattern(
    rf"(?i)([\w.-]*{_ANY}[\w-]*{_PLACE}[\"']?[ \t]*[:=])"
    rf"|((?:[\w.-]*{_ANY}[\w-]*[\"']?[ \t]*=[ \t]*)"
    rf"|(?:[\"'][\w.-]*{_ANY}[\w-]*[\"'][ \t]*:[ \t]*)"
    rf"|(?:(?:^|[^\w.-]){_CLEAR}[ \t]*:[ \t]*)){_VALUE}"
)


def redact(text: str, longest: int | None = None) -> str:
    """The text without anything that looks like a secret, and with at most `longest` characters."""
    cut = longest is not None and len(text) > longest
    text = text[:longest] if cut else text
    if _SUSPICIOUS.search(text):
        text = _URL.sub(f"://{HIDDEN}@", _TOKENS.sub(HIDDEN, text))
        for assigned in (_LINES, _FLAGS, _INLINE):
            text = assigned.sub(_without_value, text)
        text = _CUT.sub(HIDDEN, text) if cut else text
    text = text.translate(_ESCAPED)  # after the patterns, for which some of these are white space
    if longest is not None and (cut or len(text) > longest):
        text = text[: longest - 1] + "…"
    return text


def _without_value(found: Match) -> str:
    place, *names = found.groups()
    return place if place is not None else next(filter(None, names), "") + HIDDEN


_FLAG = Pattern(rf"--?[\w-]*{_ANY}[\w-]*", ignore_case=True)
_FLAG_OF_PLACE = Pattern(rf"--?[\w-]*{_PLACE}", ignore_case=True)


def is_secret_flag(argument: str) -> bool:
    """Whether the next argument of a command is a secret: the value of a flag like --password."""
    return _FLAG.fullmatch(argument) is not None and _FLAG_OF_PLACE.fullmatch(argument) is None
