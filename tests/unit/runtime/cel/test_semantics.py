"""CEL's rules where Python's differ: overflow, conversions, keys, errors that other operands absorb."""

from __future__ import annotations

from typing import Any

import pytest

from seamark_runtime.cel import CelError, Language, Limits
from seamark_runtime.cel.library import STANDARD
from seamark_runtime.cel.values import SyntaxProblem

CEL = Language(STANDARD, Limits(length=4096, depth=64, nodes=1000, budget=100_000, text=100_000))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("-9223372036854775808", -(2**63)),
        ("0x1F + 1", 32),
        ("1e3 + .5", 1000.5),
        ("2u * 3u == 6u", True),
        ("1 + 2 * 3 - 4 / 2 == 5 && 2 < 3 || false", True),
        ("!true || !!true", True),
        ("-x.n", -7),
        ("true ? 1 : false ? 2 : 3", 1),
        ("r'\\d' + '\\x41\\u00e9\\101\\n' + '''a'b'''", "\\dAéA\na'b"),
        ("b'é' == bytes('é')", True),
        (r"bytes('\xff') == b'\xff'", False),
        (r"b'\xff\377\n\101é'", b"\xff\xff\nA\xc3\xa9"),
        (r"b'\xc3\xa9' == bytes('é') && string(b'\xc3\xa9') == '\u00e9'", True),
        (r"size(b'\xff') == 1 && size(bytes('\xff')) == 2", True),
        (r"br'\xff' == bytes('\\xff') && '\ud800' != '\U0001f600'", True),
        ("x.`a-b`", "quoted"),
        (".x.n", 7),
        ("x//the field:\n.n", 7),
        ("'é€'.size()", 2),
        ("'ABCÄ'.lowerAscii() + 'abcä'.upperAscii()", "abcÄABCä"),
        ("'abc'.split('')", ["a", "b", "c"]),
        ("'abc'.split('', 2)", ["a", "bc"]),
        ("'a-b-c'.replace('-', '+', 1)", "a+b-c"),
        ("'%d%% of %s: %.2f %x %e'.format([5, 'x', 1.5, 255, 1000.0])", "5% of x: 1.50 ff 1.000000e+03"),
        ("'10.0.0.1'.matches('^10[.]') && !matches('x', 'y')", True),
        ("'a1b22'.findAll('[0-9]+')", ["1", "22"]),
        ("[3, 1, 2].sort() == [1, 2, 3] && [1, [2, [3]]].flatten(2) == [1, 2, 3]", True),
        ("{'a': 1, 2: 'b'}[2] + x.?none.orValue('!')", "b!"),
        ("x.l.exists(i, i / 0 == 1 || i == 2)", True),
        ("[1, 2].all(i, i > 1 && i / 0 > 1)", False),
        ("[1, 2, 3].map(i, i > 1, i * 2)", [4, 6]),
        ("[[1, 2], [3]].map(l, l.map(i, i + 1))", [[2, 3], [4]]),
        ("duration('1h1.5s') + duration('-1500ms') == duration('60m')", True),
        ("timestamp('2026-03-01T12:00:00Z').getHours('Europe/Berlin')", 13),
        ("timestamp(0).getFullYear()", 1970),
        ("has(x.n) && !has(x.?o.p) && optional.of([1]) == optional.of([1])", True),
        ("type(1.0) == double && type(null) != int", True),
    ],
)
def test_an_expression_has_its_value(source: str, value: Any) -> None:
    assert CEL.compile(source)({"x": {"n": 7, "a-b": "quoted", "l": [1, 2], "o": {}}}) == value


@pytest.mark.parametrize(
    ("source", "error"),
    [
        ("9223372036854775807 + 1", "integer overflow"),
        ("-9223372036854775808 - 1", "integer overflow"),
        ("-x.least", "integer overflow"),
        ("4611686018427387904 * 2", "integer overflow"),
        ("0u - 1u", "unsigned integer overflow"),
        ("int(1e30)", "integer overflow"),
        ("int(1.0 / 0.0)", "int: "),
        ("int('1_000')", "invalid syntax"),
        ("int(' 1')", "invalid syntax"),
        ("int('٣')", "invalid syntax"),
        ("int(x.digits)", "invalid syntax"),
        ("double('1_0')", "invalid syntax"),
        ("timestamp('2026-01-01T00:00:00Z') + duration('99999999h')", "_[+]_: "),
        ("timestamp(99999999999999)", "timestamp: "),
        ("timestamp('2026-01-01T00:00:00Z').getHours('../../etc/passwd')", "getHours"),
        ("duration(x.digits + 's')", "invalid duration"),
        ("{[1]: 2}", "no such overload"),
        ("{'a': 1}[[1]]", "no such overload"),
        ("{optional.of(1): 1}", "no such overload"),
        ("1 + 1.0", "no such overload"),
        ("1 < 'a'", "no such overload"),
        ("[1].filter(i, 1)", "no such overload"),
        ("[1, 2].slice(-1, 2)", "out of range"),
        ("'a'.substring(2, 1)", "out of range"),
        (r"string(b'\xff')", "string: invalid UTF-8"),
        ("size(1)", "no such overload"),
        ("size(1, 2)", "no such overload"),
        ("'x'.matches(x.bad)", "invalid regular expression"),
    ],
)
def test_what_can_not_be_evaluated_is_an_error_of_the_language(source: str, error: str) -> None:
    with pytest.raises(CelError, match=error):
        CEL.compile(source)({"x": {"least": -(2**63), "digits": "9" * 5000, "bad": "("}})


@pytest.mark.parametrize("source", [r"b'\u00ff'", r"b'\U000000ff'", r"b'\400'", r"'\400'", r"'\U00110000'", r"b'\xf'"])
def test_an_escape_that_its_literal_does_not_have_is_no_expression(source: str) -> None:
    with pytest.raises(SyntaxProblem, match="unable to unescape"):
        CEL.compile(source)
