"""Names about records of another namespace (docs/spec/dns/dnsendpoint.md, rules 34, 35 and 41)."""

from __future__ import annotations

import pytest

from tests.unit.operator.families.dns.zones import ZONE, claim, content, described, owned, plan, record, ref, rules

WWW = "www A 192.0.2.1"

# ---- names below the wildcard of another namespace (rule 34)

WILDCARD = "*.team-b A 192.0.2.1"
WIDER, NEARER = "*.apps", "*.team-b.apps A 192.0.2.1"
BELOW = "x.team-b A 203.0.113.6"
COVERED = f"x.team-b.{ZONE} A is below a wildcard record of another namespace"


@pytest.mark.parametrize("below", ["x.team-b", "x.y.team-b", "*.y.team-b"])
@pytest.mark.parametrize("served", [True, False], ids=["served", "claimed"])
def test_a_name_below_the_wildcard_of_another_namespace_is_refused(below: str, served: bool) -> None:
    holds = content(owned("b/wild", WILDCARD)) if served else content()
    made = plan(holds, claim("b/wild", WILDCARD), claim("a/evil", f"{below} A 203.0.113.6"))
    assert "203.0.113.6" not in " ".join(described(made.changes))
    decision = made.decisions[(ref("a/evil"), 0)]
    assert (decision.reason, decision.message) == (
        "Conflict",
        f"{below}.{ZONE} A is below a wildcard record of another namespace",
    )


def test_any_type_below_the_wildcard_of_another_namespace_is_refused() -> None:
    made = plan(content(owned("b/wild", WILDCARD)), claim("b/wild", WILDCARD), claim("a/evil", "x.team-b TXT hello"))
    assert made.changes == ()
    assert made.decisions[(ref("a/evil"), 0)].reason == "Conflict"


def test_a_wildcard_may_come_over_a_name_of_another_namespace_and_takes_nothing_from_it() -> None:
    made = plan(content(owned("a/x", BELOW)), claim("a/x", BELOW), claim("b/wild", WILDCARD))
    assert described(made.changes) == ["create *.team-b A 192.0.2.1", "create a-*.team-b owner"]
    assert made.decisions[(ref("a/x"), 0)].in_place
    changed = plan(
        content(owned("a/x", BELOW), owned("b/wild", WILDCARD)),
        claim("a/x", "x.team-b A 203.0.113.7"),
        claim("b/wild", WILDCARD),
    )
    assert described(changed.changes) == ["update x.team-b A 203.0.113.7"]


def test_the_namespace_of_a_wildcard_publishes_names_below_it() -> None:
    made = plan(content(owned("b/wild", WILDCARD)), claim("b/wild", WILDCARD), claim("b/x", BELOW))
    assert described(made.changes)[0] == "create x.team-b A 203.0.113.6"


def test_the_nearest_wildcard_decides() -> None:
    holds = content(owned("infra/all", f"{WIDER} A 192.0.2.9"), owned("b/wild", NEARER))
    standing = claim("infra/all", f"{WIDER} A 192.0.2.9"), claim("b/wild", NEARER)
    below = "x.team-b.apps A 203.0.113.6"
    assert described(plan(holds, *standing, claim("b/x", below)).changes)[0] == f"create {below}"
    message = plan(holds, *standing, claim("infra/x", below)).decisions[(ref("infra/x"), 0)].message
    assert message == f"x.team-b.apps.{ZONE} A is below a wildcard record of another namespace"


@pytest.mark.parametrize("below", ["www", "x.team-b", "*.team-b"])
def test_the_wildcard_of_the_zone_keeps_no_name_from_others(below: str) -> None:
    holds = content(owned("infra/all", "* A 192.0.2.9"))
    made = plan(holds, claim("infra/all", "* A 192.0.2.9"), claim("a/x", f"{below} A 203.0.113.6"))
    assert described(made.changes)[0] == f"create {below} A 203.0.113.6"


def test_a_wildcard_that_is_refused_itself_keeps_nothing() -> None:
    holds = content(owned("infra/all", f"{WIDER} A 192.0.2.9"))
    below = "x.team-b.apps A 203.0.113.6"
    claims = claim("infra/all", f"{WIDER} A 192.0.2.9"), claim("a/evil", NEARER), claim("infra/x", below)
    made = plan(holds, *claims)
    assert made.decisions[(ref("a/evil"), 0)].reason == "Conflict"
    assert described(made.changes)[0] == f"create {below}"
    foreign = content(record(WILDCARD))  # of an unknown owner: no claim gets it
    assert described(plan(foreign, claim("a/evil", WILDCARD), claim("b/x", BELOW)).changes)[0].startswith(
        "create x.team-b"
    )


def test_names_below_wildcards_are_free_where_names_are_shared() -> None:
    holds = content(owned("b/wild", WILDCARD))
    made = plan(holds, claim("b/wild", WILDCARD), claim("a/x", BELOW), under=rules(shared_names=True))
    assert described(made.changes)[0] == "create x.team-b A 203.0.113.6"


def test_without_a_registry_a_wildcard_on_the_server_is_that_of_who_claims_it() -> None:
    under = rules(registry="noop")
    holds = content(record(WILDCARD, ttl=300))
    made = plan(holds, claim("b/wild", WILDCARD), claim("a/evil", BELOW), under=under)
    assert made.changes == ()
    assert made.decisions[(ref("a/evil"), 0)].message == COVERED


# ---- names of ownership records (rule 35)

VICTIM = "vic A 192.0.2.1"


@pytest.mark.parametrize("squat", ["a-vic CNAME evil.example.net", "a-vic TXT hello", "a-vic NS evil.example.net"])
@pytest.mark.parametrize("served", [True, False], ids=["served", "claimed"])
def test_the_name_of_an_ownership_record_can_not_be_claimed(squat: str, served: bool) -> None:
    holds = content(owned("b/vic", VICTIM)) if served else content()
    made = plan(holds, claim("b/vic", VICTIM), claim("a/evil", squat))
    assert described(made.changes) == ([] if served else ["create vic A 192.0.2.1", "create a-vic owner"])
    decision = made.decisions[(ref("a/evil"), 0)]
    assert decision.reason == "Conflict"
    assert decision.message.startswith(
        f"a-vic.{ZONE} is the name of the ownership record of vic.{ZONE} A, beside which"
    )


def test_a_cname_that_stands_beside_an_ownership_record_goes() -> None:
    alias = "a-vic CNAME evil.example.net"
    holds = content(owned("b/vic", VICTIM), owned("a/evil", alias))
    made = plan(holds, claim("b/vic", VICTIM), claim("a/evil", alias))
    assert described(made.changes) == ["delete a-vic CNAME", "delete cname-a-vic owner"]
    assert made.decisions[(ref("b/vic"), 0)].in_place
    assert made.decisions[(ref("a/evil"), 0)].reason == "Conflict"


def test_a_record_where_an_ownership_record_would_be_stays_and_the_other_claim_is_refused() -> None:
    alias = "a-team CNAME www.example.net"
    made = plan(content(owned("b/alias", alias)), claim("b/alias", alias), claim("a/evil", "team A 203.0.113.6"))
    assert made.changes == ()
    assert made.decisions[(ref("b/alias"), 0)].in_place
    decision = made.decisions[(ref("a/evil"), 0)]
    message = f"the ownership record of team.{ZONE} A can't be beside a-team.{ZONE} CNAME; choose another name"
    assert (decision.reason, decision.message) == ("Conflict", message)
    foreign = plan(content(record(alias)), claim("a/x", "team A 203.0.113.6"))
    assert foreign.decisions[(ref("a/x"), 0)].reason == "NotOwned"


def test_an_address_may_be_at_the_name_of_an_ownership_record() -> None:
    made = plan(content(owned("b/vic", VICTIM)), claim("b/vic", VICTIM), claim("b/a-vic", "a-vic A 192.0.2.5"))
    assert described(made.changes) == ["create a-vic A 192.0.2.5", "create a-a-vic owner"]


# ---- names with service labels (rule 41)

CHALLENGE = "_acme-challenge.www CNAME tok.evil.test"


@pytest.mark.parametrize("name", ["_acme-challenge.www", "_sip._tcp.www", "_x.www"])
@pytest.mark.parametrize("served", [True, False], ids=["served", "claimed"])
def test_a_name_about_the_host_of_another_namespace_is_refused(name: str, served: bool) -> None:
    holds = content(owned("b/www", WWW)) if served else content()
    made = plan(holds, claim("b/www", WWW), claim("a/evil", f"{name} CNAME tok.evil.test"))
    assert "tok.evil.test" not in " ".join(described(made.changes))
    decision = made.decisions[(ref("a/evil"), 0)]
    message = f"{name}.{ZONE} CNAME is about a name of another namespace"
    assert (decision.reason, decision.message) == ("Conflict", message)


def test_the_namespace_of_a_host_publishes_names_about_it() -> None:
    made = plan(content(owned("b/www", WWW)), claim("b/www", WWW), claim("b/acme", CHALLENGE))
    assert described(made.changes)[0] == f"create {CHALLENGE}"


def test_a_name_about_a_host_that_nobody_has_and_about_the_zone_is_free() -> None:
    made = plan(content(), claim("a/acme", CHALLENGE), claim("b/dmarc", "_dmarc A 192.0.2.1"))
    assert [change for change in described(made.changes) if "owner" not in change] == [
        f"create {CHALLENGE}",
        "create _dmarc A 192.0.2.1",
    ]
