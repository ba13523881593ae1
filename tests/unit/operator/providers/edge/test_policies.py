"""Checks of policies in the operator: once for each text, within a budget for each namespace."""

from __future__ import annotations

import pytest

from seamark.families.loadbalancer.model.policies import BadPolicy, UncheckedPolicy, check
from seamark.providers.edge import policies
from seamark.providers.edge.policies import PolicyChecks
from seamark_edge.model import CheckPostponed

BAD = {"on_tcp_connect": [{"actions": [{"type": "no-such-action"}]}]}


class Work:
    """Stands in for the check: each takes so much CPU time, and no time passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.now = 1000.0
        self.cpu = 0.0
        self.checked: list[str] = []
        self._seconds = seconds
        monkeypatch.setattr(policies, "_refusal", self._check)
        self.checks = PolicyChecks(5.0, lambda: self.now, lambda: self.cpu)

    def _check(self, policy: str) -> str:
        self.checked.append(policy)
        self.cpu += self._seconds
        return "bad" if policy.startswith("bad") else ""


def test_a_namespace_over_its_budget_waits_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, seconds=0.0625)
    for number in range(80):
        assert not work.checks.check("tenant-a", f"{number}")
    with pytest.raises(CheckPostponed) as postponed:
        work.checks.check("tenant-a", "one more")
    assert str(postponed.value) == postponed.value.message  # no time in it: a status message stays the same
    assert not work.checks.check("tenant-b", "small")
    assert not work.checks.check("tenant-a", "79")  # known already
    work.now += postponed.value.after
    assert not work.checks.check("tenant-a", "one more")


def test_a_text_is_checked_once_for_all_who_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, seconds=0.001)
    for _ in range(3):
        for number in range(250):
            assert not work.checks.check("tenant-a", f"{number}")
        assert work.checks.check("tenant-b", "bad") == "bad"
    assert len(work.checked) == 251


def test_a_policy_that_was_not_checked_is_neither_valid_nor_invalid() -> None:
    checks = PolicyChecks(seconds=1e-9)
    with pytest.raises(BadPolicy, match="no-such-action"):
        check(BAD, checks.check, "tenant-a")
    with pytest.raises(UncheckedPolicy) as unchecked:
        check({**BAD, "on_http_request": []}, checks.check, "tenant-a")
    assert unchecked.value.after > 0


def test_reading_a_result_checks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work(monkeypatch, seconds=0.001)
    with pytest.raises(CheckPostponed):
        work.checks.refusal("tenant-a", "bad")
    assert work.checked == []
    work.checks.check("tenant-a", "bad")
    assert work.checks.refusal("tenant-a", "bad") == "bad"
