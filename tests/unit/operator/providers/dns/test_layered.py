"""A map whose versions share what they have in common is, to its readers, a dict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from seamark.providers.dns import layered
from seamark.providers.dns.layered import Layered

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.integers(0, 12), st.integers()),
        st.tuples(st.just("delete"), st.integers(0, 12), st.just(0)),
        st.tuples(st.just("copy"), st.just(0), st.just(0)),
    ),
    max_size=40,
)


@given(st.dictionaries(st.integers(0, 12), st.integers()), STEPS, st.integers(1, 600))
def test_every_version_stays_as_it_was(first: dict[int, int], steps: list[tuple[str, int, int]], thickest: int) -> None:
    before, layered.THICKEST = layered.THICKEST, thickest
    try:
        versions = [(Layered(first), dict(first))]
        for verb, key, value in steps:
            made, model = versions[-1]
            match verb:
                case "copy":
                    versions.append((made.copy(), dict(model)))
                case "set":
                    made[key] = model[key] = value
                case "delete":
                    assert made.pop(key, None) == model.pop(key, None)
            for one, expected in versions:
                assert dict(one.items()) == expected
                assert len(one) == len(expected)
                assert [one.get(number) for number in range(13)] == [expected.get(number) for number in range(13)]
    finally:
        layered.THICKEST = before


def test_what_takes_over_all_of_another_shares_it() -> None:
    first = Layered({number: number for number in range(1000)})
    second: Layered[int, int] = Layered()
    second.update(first)
    second[1] = 0
    del second[2]
    assert (first[1], first[2], len(first)) == (1, 2, 1000)
    assert (second[1], 2 in second, len(second)) == (0, False, 999)
