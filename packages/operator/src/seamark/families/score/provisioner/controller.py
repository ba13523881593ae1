"""The wiring of the provisioner."""

from __future__ import annotations

from seamark.api.score import PlatformConfig, ResourceClaim
from seamark.families.score.config import BY_TEMPLATE, KEY, Configs
from seamark.families.score.ownership import PART_OF, ByUid
from seamark.families.score.provisioner.reconcile import desire, judge
from seamark.families.score.provisioner.state import PhaseStatus, Seen, given
from seamark_runtime.api.core import ConfigMap, Secret
from seamark_runtime.api.meta import Key
from seamark_runtime.calls import Results
from seamark_runtime.controller import Controller
from seamark_runtime.scope import Scope
from seamark_runtime.source import Absent
from seamark_runtime.view import View

MANAGER = "score-provisioner"


def controller(config_key: Key = KEY) -> Controller[Seen]:
    configs = Configs(config_key)

    def observe(view: View, claim: ResourceClaim, _results: Results) -> Seen | None:
        config = configs.seen(view)
        if claim.deleting or config is None:
            return None
        provisioner = config.provisioner(claim.spec.type, claim.spec.class_)
        if provisioner is not None and provisioner.provisioner != BY_TEMPLATE:
            return None  # another provisioner provides it
        gives = given(claim, provisioner)
        secret = view.one(Secret, Key(claim.metadata.namespace, gives.secret)) if gives.secret else Absent()
        return Seen(claim, provisioner, gives, secret)

    return Controller(
        name="score-provisioner",
        kind=ResourceClaim,
        manager=MANAGER,
        reads=(PlatformConfig,),
        singles=(Secret,),
        scopes={PlatformConfig: Scope(config_key.namespace), ConfigMap: Scope.labelled(PART_OF)},
        children=(ConfigMap,),
        ownership=ByUid(lambda claim, _child: claim.spec.deprovision_policy == "Retain"),
        observe=observe,
        desire=desire,
        judge=judge,
        status=PhaseStatus(MANAGER),
    )
