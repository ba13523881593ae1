"""A rest that could not find a write would prove nothing."""

from __future__ import annotations

from typing import Any

from tests.rest.counting import Counter, Result
from tests.rest.product import left


def gateway(version: int, message: str = "programmed", **more: Any) -> dict[str, Any]:
    metadata = {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": str(version), **more}
    return {"kind": "Gateway", "metadata": metadata, "spec": {"port": 80}, "status": {"message": message}}


def event(version: int) -> dict[str, Any]:
    metadata = {"name": "web.1", "namespace": "default", "uid": "2", "resourceVersion": str(version)}
    return {"kind": "Event", "metadata": metadata, "reason": "Refused", "message": "no such host"}


def resting() -> Counter:
    counter = Counter()
    counter.seen(gateway(1), False)
    counter.begin()
    return counter


def result(counter: Counter, cpu_share: float = 0.03, not_ready: tuple[str, ...] = ()) -> Result:
    return Result(60, counter, cpu_share, not_ready)


def test_nothing_that_happened_before_the_rest_counts() -> None:
    counter = resting()
    assert counter.changes == 1
    assert result(counter).missed() == []
    assert result(counter).last_line() == ("rest: minutes=60 status_writes=0 events=0 other_writes=0 cpu_share=0.030")


def test_a_change_of_the_status_alone_is_a_status_write_and_is_shown() -> None:
    counter = resting()
    changed = gateway(2, "answered 3 s ago", managedFields=[{"time": "now"}])
    counter.seen({**changed, "apiVersion": "gateway.networking.k8s.io/v1"}, False)
    assert result(counter).findings() == ["status write: Gateway default/web: message=answered 3 s ago"]
    assert result(counter).missed() == ["status_writes=0"]


def test_the_same_version_seen_again_by_another_list_is_no_write() -> None:
    counter = resting()
    counter.seen(gateway(1), False)
    assert (counter.changes, counter.status_writes) == (1, [])


def test_a_new_event_and_one_that_is_repeated_count_one_that_expires_does_not() -> None:
    counter = resting()
    counter.seen(event(2), False)
    counter.seen(event(3), False)
    counter.seen(event(3), True)
    assert len(counter.events) == 2
    assert result(counter).missed() == ["events=0"]


def test_labels_new_objects_and_deletions_are_other_writes() -> None:
    counter = resting()
    counter.seen(gateway(2, labels={"a": "b"}), False)
    counter.seen(gateway(2), True)
    counter.seen(gateway(4), False)
    assert [entry.split()[-1] for entry in counter.other_writes] == ["changed", "deleted", "created"]


def test_renewals_of_leases_and_reports_of_a_kubelet_are_left_out() -> None:
    counter = resting()
    for kind in ("Lease", "Node"):
        counter.seen({**gateway(7), "kind": kind}, False)
    assert result(counter).findings() == []


def test_what_is_written_while_the_product_ends_does_not_count() -> None:
    counter = resting()
    counter.end()
    counter.seen(gateway(2, "no response"), False)
    assert result(counter).findings() == []


def test_too_much_cpu_or_an_example_that_is_not_ready_fails() -> None:
    assert result(resting(), cpu_share=0.051).missed() == ["cpu_share<=0.05"]
    assert result(resting(), not_ready=("dig www.example.test A",)).missed() == ["all examples are ready"]


def test_rows_that_are_not_ready_are_found_in_the_table() -> None:
    table = "object or check   true     says\ncurl http://a:1   True     200 OK\nGateway a/b   not yet  no address\n"
    assert left(table) == ("Gateway a/b not yet no address",)
    assert left(f"skipping example story: it needs Envoy\n{table}")[0] == "skipping example story: it needs Envoy"


def test_without_the_table_nothing_is_known_to_be_ready() -> None:
    assert left("export KUBECONFIG=/tmp/kubeconfig\n") == ("the table of the examples was not printed",)
