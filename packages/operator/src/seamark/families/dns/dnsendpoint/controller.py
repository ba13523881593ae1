"""The controller of DNSEndpoints."""

from __future__ import annotations

from seamark.api.dns import DNSEndpoint
from seamark.families.dns.dnsendpoint.reconcile import announce, desire, judge
from seamark.families.dns.dnsendpoint.state import CONDITIONS, Seen
from seamark.families.dns.model.dependencies import Dependencies
from seamark.families.dns.model.entries import CRD, FINALIZER, ZONES, Ref, zone_named
from seamark.families.dns.model.indexes import hidden
from seamark.families.dns.model.lookups import SHELF
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller, Declaration, Reads, Timing, Writes
from seamark_runtime.status import ByManager, NoStatus
from seamark_runtime.view import View


def controllers(dependencies: Dependencies) -> tuple[Declaration, ...]:
    rules, intervals = dependencies.options.rules, dependencies.options.intervals
    if CRD not in rules.sources:
        return ()

    def observe(view: View, endpoint: DNSEndpoint, _results: Results) -> Seen | None:
        if hidden(endpoint, rules):
            return None
        meta, desired = endpoint.metadata, dependencies.specs.desired(endpoint)
        reports = {
            zone_named(key): report
            for key, report in view.entries(dependencies.reports, Ref.of(CRD, endpoint.key)).items()
            if (report.uid, report.generation, report.desired) == (meta.uid, meta.generation, desired)
        }
        return Seen(endpoint, desired, reports, rules)

    status = ByManager(manager="seamark-dns", conditions=CONDITIONS, fields=("endpoints",))
    controller = Controller(
        name="dnsendpoints",
        kind=DNSEndpoint,
        observe=observe,
        desire=desire,
        judge=judge,
        announce=announce,
        status=status if rules.update_status else NoStatus(),
        reads=Reads(indexes=(dependencies.indexes.crd,), sources=(dependencies.reports,)),
        writes=Writes(finalizers=(FINALIZER,), annotations=(ZONES,)),
        timing=Timing(
            shelf_life=min(intervals.shelf_life, SHELF * intervals.asking), linger=4 * intervals.spacing + 2.0
        ),
    )
    return (controller,)
