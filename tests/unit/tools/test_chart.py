"""The chart has what the code declares, and grants nothing beyond it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tools.chart import CHART, USED, files, roles

ROLES = roles()
RULES = [(part, where, rule) for part, places in ROLES.items() for where, rules in places.items() for rule in rules]


@pytest.mark.parametrize("name", list(files()))
def test_what_the_chart_takes_from_the_code_is_up_to_date(name: str) -> None:
    assert (CHART / name).read_text() == files()[name], "write it anew with `python -m tools.chart`"


def test_no_rule_has_a_wildcard() -> None:
    for part, _, rule in RULES:
        for words in rule.values():
            assert not [word for word in words if "*" in word], (part, rule)


def test_nobody_may_list_secrets() -> None:
    for part, _, rule in RULES:
        if "secrets" in rule["resources"]:
            assert not {"list", "watch"} & set(rule["verbs"]), (part, rule)


def test_secrets_everywhere_are_read_one_by_one_and_never_written() -> None:
    for part, where, rule in RULES:
        if where == "everywhere" and "secrets" in rule["resources"]:
            assert rule["verbs"] == ["get"], (part, rule)


def test_nobody_may_give_rights_or_act_as_others() -> None:
    for part, _, rule in RULES:
        assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"]), (part, rule)
        assert "rbac.authorization.k8s.io" not in rule["apiGroups"], (part, rule)


def test_every_family_has_a_role() -> None:
    assert {family.name for family in USED} == {name.partition(".")[0] for name in ROLES} - {
        *("leader", "agent", "forwarder", "console", "evidence", "install", "renewal", "uninstall")
    }


def test_every_value_has_a_comment_or_a_name_that_says_it() -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    plain = {"enabled", "replicas", "resources", "nodeSelector", "tolerations", "affinity", "settings", "logLevel"}
    plain |= {"podAnnotations", "podLabels", "annotations", "labels", "pullPolicy", "loadBalancerClass", "type"}
    plain |= {"topologySpreadConstraints", "priorityClassName", "maxUnavailable", "interval", "first", "count", "size"}

    def undescribed(at: dict[str, Any], path: str) -> list[str]:
        found = []
        for name, of in at.get("properties", {}).items():
            if "properties" in of and name != "settings":
                found += undescribed(of, f"{path}{name}.")
            elif "description" not in of and name not in plain:
                found.append(f"{path}{name}")
        return found

    assert not undescribed(schema, "")
