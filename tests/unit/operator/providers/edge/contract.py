"""What every edge must keep to. Run on the fake in memory, and on a running edge over its REST API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

import pytest

from seamark.providers.edge.protocol import EdgeProvider
from seamark_edge.model import DomainSpec, EndpointSpec, OperatorSpec, Owner
from seamark_runtime.errors import Exists, Gone, Refused

DENY = '{"on_tcp_connect":[{"actions":[{"type":"deny"}]}]}'


@dataclass
class World:
    """An edge under test, and the means to disturb it."""

    provider: EdgeProvider
    another: Callable[[], EdgeProvider]  # a second process on the same edge
    lose_next_reply: Callable[[], None]
    agent_holds: Callable[[str, str, tuple[str, ...]], Awaitable[None]]
    csr: Callable[[], str]
    requests: Callable[[], int]  # so many were sent to the edge
    agent_refused: Callable[[str, str, int], Awaitable[None]]  # an agent is refused: name, URL, generation


OWNER = Owner("cluster-uid", "shop", "web", "uid-1")


class EdgeContract:
    """The promises of `EdgeProvider`, each as a test."""

    def world(self) -> AbstractAsyncContextManager[World]:
        raise NotImplementedError

    def run(self, case: Callable[[World], Awaitable[None]]) -> None:
        async def inside() -> None:
            async with self.world() as world:
                await case(world)

        asyncio.run(inside())

    def test_an_address_is_reserved_once_for_its_owner(self) -> None:
        async def case(world: World) -> None:
            one = await world.provider.reserve_address(OWNER)
            two = await world.provider.reserve_address(OWNER)
            other = await world.provider.reserve_address(replace(OWNER, uid="uid-2"))
            assert one == two
            assert one.owner == OWNER
            assert other.addr != one.addr

        self.run(case)

    def test_many_callers_at_once_get_one_address(self) -> None:
        async def case(world: World) -> None:
            found = await asyncio.gather(*(world.provider.reserve_address(OWNER) for _ in range(8)))
            assert len({address.id for address in found}) == 1
            assert len((await world.provider.owned(OWNER.cluster)).addresses) == 1

        self.run(case)

    def test_what_a_lost_reply_left_is_adopted_at_once(self) -> None:
        async def case(world: World) -> None:
            world.lose_next_reply()
            found = await world.provider.reserve_address(OWNER)
            assert (await world.provider.owned(OWNER.cluster)).addresses == (found,)

        self.run(case)

    def test_what_a_crash_left_is_adopted_by_the_next_process(self) -> None:
        async def case(world: World) -> None:
            one = await world.provider.reserve_address(OWNER)
            domain = await world.provider.reserve_domain(OWNER, "left.example.com")
            second = world.another()
            assert await second.reserve_address(OWNER) == one
            assert await second.reserve_domain(OWNER, "left.example.com") == domain
            await second.close()

        self.run(case)

    def test_releasing_twice_is_releasing_once(self) -> None:
        async def case(world: World) -> None:
            await world.provider.reserve_address(OWNER)
            await world.provider.release_address(OWNER)
            await world.provider.release_address(OWNER)
            await world.another().release_address(OWNER)
            assert (await world.provider.owned(OWNER.cluster)).addresses == ()

        self.run(case)

    def test_addresses_are_kept_as_many_as_are_wanted(self) -> None:
        async def case(world: World) -> None:
            first = await world.provider.keep_addresses(OWNER, ("80", "81"))
            again = await world.provider.keep_addresses(OWNER, ("81", "82"))
            assert again["81"] == first["81"]
            addresses = (await world.provider.owned(OWNER.cluster)).addresses
            assert {address.addr for address in addresses} == {again["81"].addr, again["82"].addr}
            assert await world.provider.keep_addresses(OWNER, ()) == {}
            assert (await world.provider.owned(OWNER.cluster)).addresses == ()

        self.run(case)

    def test_an_address_is_found_whoever_reserved_it(self) -> None:
        async def case(world: World) -> None:
            address = await world.provider.reserve_address(OWNER)
            found = await world.another().find_address(address.addr)
            assert found is not None
            assert found.addr == address.addr
            assert await world.provider.find_address("127.0.0.1:1") is None

        self.run(case)

    def test_a_domain_that_is_retained_is_there_for_the_next(self) -> None:
        async def case(world: World) -> None:
            await world.provider.reserve_domain(OWNER, "kept.example.com")
            await world.provider.retain_domain(OWNER)
            assert (await world.provider.owned(OWNER.cluster)).domains == ()
            found = await world.provider.reserve_domain(replace(OWNER, uid="uid-2"), "kept.example.com")
            assert found.owner is None
            await world.provider.release_domain(replace(OWNER, uid="uid-2"))
            again = await world.another().reserve_domain(OWNER, "kept.example.com")
            assert again.id == found.id

        self.run(case)

    def test_a_mark_shows_the_cluster_and_what_becomes_of_a_domain(self) -> None:
        """Both may be missing in the marks of an earlier version: the object is the same, and is found."""

        async def case(world: World) -> None:
            ours = replace(OWNER, cluster_uid="uid-of-the-cluster")
            await world.provider.reserve_domain(OWNER, "earlier.example.com")
            address = await world.provider.reserve_address(ours)
            assert await world.another().reserve_address(OWNER) == address
            known = await world.another().owners(OWNER.cluster, "uid-of-the-cluster")
            assert {kind: len(owners) for kind, owners in known.items() if owners} == {"address": 1}
            for reclaim in ("Delete", "Retain"):
                found = await world.provider.reserve_domain(ours, "earlier.example.com", DomainSpec(reclaim=reclaim))
                assert found.domain == "earlier.example.com"
                before = world.requests()
                await world.provider.reserve_domain(ours, "earlier.example.com", DomainSpec(reclaim=reclaim))
                assert world.requests() == before
                (owner,) = (await world.another().owners(OWNER.cluster, "uid-of-the-cluster"))["domain"]
                assert (owner, owner.reclaim) == (OWNER, reclaim)
            assert (await world.another().owners(OWNER.cluster, "uid-of-another"))["domain"] == ()

        self.run(case)

    def test_registrations_are_listed_by_cluster(self) -> None:
        async def case(world: World) -> None:
            await world.provider.register(OWNER, OperatorSpec(("true",)))
            await world.provider.register(replace(OWNER, cluster="another"), OperatorSpec(("true",)))
            assert tuple(await world.another().registrations(OWNER.cluster)) == (OWNER,)
            await world.provider.unregister(replace(OWNER, cluster="another"))
            await world.provider.unregister(OWNER)
            assert tuple(await world.another().registrations(OWNER.cluster)) == ()

        self.run(case)

    def test_a_custom_domain_comes_with_its_cname_target_and_an_own_one_without(self) -> None:
        async def case(world: World) -> None:
            custom = await world.provider.reserve_domain(OWNER, "app.example.com")
            own = await world.provider.reserve_domain(replace(OWNER, name="own"), "own.edge.localhost")
            assert custom.cname_target.endswith(".cname.edge.localhost")
            assert own.cname_target == ""

        self.run(case)

    def test_a_domain_of_another_owner_is_not_touched(self) -> None:
        async def case(world: World) -> None:
            taken = await world.provider.reserve_domain(OWNER, "taken.example.com")
            with pytest.raises(Exists):
                await world.provider.reserve_domain(replace(OWNER, name="other"), "taken.example.com")
            assert (await world.provider.owned(OWNER.cluster)).domains == (taken,)

        self.run(case)

    def test_an_owner_that_wants_another_domain_gives_up_the_first(self) -> None:
        async def case(world: World) -> None:
            await world.provider.reserve_domain(OWNER, "one.example.com")
            await world.provider.reserve_domain(OWNER, "two.example.com")
            assert [d.domain for d in (await world.provider.owned(OWNER.cluster)).domains] == ["two.example.com"]

        self.run(case)

    def test_an_endpoint_opens_changes_in_place_and_closes(self) -> None:
        async def case(world: World) -> None:
            address = await world.provider.reserve_address(OWNER)
            wanted = EndpointSpec(f"tcp://{address.addr}", policy=DENY)
            made = await world.provider.open_endpoint(OWNER, wanted)
            assert (made.url, made.policy, made.type, made.owner) == (wanted.url, DENY, "cloud", OWNER)
            changed = await world.provider.open_endpoint(OWNER, replace(wanted, description="now with words"))
            assert (changed.id, changed.description) == (made.id, "now with words")
            opened = await world.provider.set_policy(OWNER, "")
            assert (opened.id, opened.policy) == (made.id, "")
            await world.provider.close_endpoint(OWNER)
            await world.provider.close_endpoint(OWNER)
            assert (await world.provider.owned(OWNER.cluster)).endpoints == ()

        self.run(case)

    def test_a_url_that_is_taken_is_told(self) -> None:
        async def case(world: World) -> None:
            address = await world.provider.reserve_address(OWNER)
            wanted = EndpointSpec(f"tcp://{address.addr}", policy=DENY)
            await world.provider.open_endpoint(OWNER, wanted)
            with pytest.raises(Exists):
                await world.provider.open_endpoint(replace(OWNER, name="other"), wanted)

        self.run(case)

    def test_what_an_object_of_the_same_name_left_is_taken_over(self) -> None:
        """It can't be there any more: a name is used by one object at a time."""

        async def case(world: World) -> None:
            heir = replace(OWNER, uid="uid-2")
            domain = await world.provider.reserve_domain(OWNER, "left.example.com")
            url = f"tcp://{(await world.provider.reserve_address(OWNER)).addr}"
            endpoint = await world.provider.open_endpoint(OWNER, EndpointSpec(url))
            taken = await world.another().reserve_domain(heir, "left.example.com")
            opened = await world.provider.open_endpoint(heir, EndpointSpec(url))
            assert (taken.id, taken.owner) == (domain.id, heir)
            assert (opened.id, opened.owner) == (endpoint.id, heir)

        self.run(case)

    def test_a_policy_that_cant_be_used_is_refused_in_the_edges_words(self) -> None:
        async def case(world: World) -> None:
            address = await world.provider.reserve_address(OWNER)
            with pytest.raises(Refused, match="traffic policy"):
                await world.provider.open_endpoint(OWNER, EndpointSpec(f"tcp://{address.addr}", policy="nonsense"))
            with pytest.raises(Gone):
                await world.provider.set_policy(OWNER, "")

        self.run(case)

    def test_only_the_clusters_own_things_are_listed(self) -> None:
        async def case(world: World) -> None:
            mine = await world.provider.reserve_address(OWNER)
            await world.provider.reserve_address(replace(OWNER, cluster="another"))
            assert (await world.provider.owned(OWNER.cluster)).addresses == (mine,)

        self.run(case)

    def test_operators_get_a_certificate_and_a_new_one_for_a_new_key(self) -> None:
        async def case(world: World) -> None:
            first = await world.provider.register(OWNER, OperatorSpec(("true",), world.csr()))
            again = await world.provider.register(OWNER, OperatorSpec(("true",)))
            renewed = await world.provider.register(OWNER, OperatorSpec(("true",), world.csr()))
            assert first.certificate
            assert first.ingress_endpoint
            assert (again.id, again.certificate) == (first.id, first.certificate)
            assert (renewed.id, renewed.certificate == first.certificate) == (first.id, False)
            await world.provider.unregister(OWNER)
            with pytest.raises(Gone):
                await world.provider.bound_endpoints(first.id)

        self.run(case)

    def test_bound_endpoints_and_the_agents_that_hold_them(self) -> None:
        async def case(world: World) -> None:
            operator = await world.provider.register(OWNER, OperatorSpec(("true",), world.csr()))
            assert await world.provider.bound_endpoints(operator.id) == ()
            await world.agent_holds("tcp://db.prod:5432", "meta", ("kubernetes",))
            (bound,) = await world.provider.bound_endpoints(operator.id)
            assert (bound.url, bound.proto) == ("tcp://db.prod:5432", "tcp")
            (holder,) = await world.provider.holders("tcp://db.prod:5432")
            assert (holder.id, holder.type, bool(holder.session)) == (bound.id, "agent", True)

        self.run(case)

    def test_selectors_choose_among_what_is_bound(self) -> None:
        async def case(world: World) -> None:
            selectors = ("ep.metadata == 'no'", "ep.metadata == 'yes' && ep.proto == 'tcp' && ep.port > 5000")
            operator = await world.provider.register(OWNER, OperatorSpec(selectors, world.csr()))
            await world.agent_holds("tcp://yes.prod:5432", "yes", ("kubernetes",))
            await world.agent_holds("tcp://other.prod:5432", "other", ("kubernetes",))
            await world.agent_holds("tcp://low.prod:53", "yes", ("kubernetes",))
            assert [bound.url for bound in await world.provider.bound_endpoints(operator.id)] == ["tcp://yes.prod:5432"]
            await world.provider.register(OWNER, OperatorSpec(("ep.nothing.here == 1",)))
            assert await world.provider.bound_endpoints(operator.id) == ()
            await world.provider.register(OWNER, OperatorSpec(()))
            assert await world.provider.bound_endpoints(operator.id) == ()

        self.run(case)

    def test_a_selector_that_is_no_expression_is_refused(self) -> None:
        async def case(world: World) -> None:
            with pytest.raises(Refused, match="CEL"):
                await world.provider.register(OWNER, OperatorSpec(("ep.metadata ==",), world.csr()))

        self.run(case)

    def test_asking_who_holds_an_endpoint_is_one_request_however_many_there_are(self) -> None:
        async def case(world: World) -> None:
            for number in range(3):
                await world.agent_holds(f"tcp://held{number}.prod:5432", "", ("kubernetes",))
            await world.agent_holds("http://held.prod:80", "", ("kubernetes",))
            before = world.requests()
            (holder,) = await world.provider.holders("tcp://held1.prod:5432")
            assert world.requests() - before == 1
            assert (holder.url, holder.type) == ("tcp://held1.prod:5432", "agent")
            assert [one.type for one in await world.provider.holders("http://held.prod")] == ["agent"]
            assert await world.provider.holders('tcp://"odd.prod:1') == ()
            address = await world.provider.reserve_address(OWNER)
            await world.provider.open_endpoint(OWNER, EndpointSpec(f"tcp://{address.addr}", policy=DENY))
            assert await world.provider.holders(f"tcp://{address.addr}") == ()

        self.run(case)

    def test_what_an_agent_was_refused_is_told_for_its_generation(self) -> None:
        async def case(world: World) -> None:
            await world.agent_refused(OWNER.key, "https://free.example.com", 7)
            told = [one for session in await world.provider.sessions() for one in session.refused]
            (refused,) = [one for one in told if one.name == OWNER.key]
            assert (refused.url, refused.generation) == ("https://free.example.com", 7)
            assert "free.example.com is not reserved" in refused.message
            assert await world.provider.sessions() == (await world.provider.owned(OWNER.cluster)).sessions

        self.run(case)

    def test_a_watch_tells_what_changed_and_nothing_twice(self) -> None:
        async def case(world: World) -> None:
            seen: list[int] = []
            async with asyncio.timeout(20):
                async for snapshot in world.provider.watch(OWNER.cluster, 0.01):
                    seen.append(len(snapshot.addresses))
                    if seen == [0]:
                        await world.another().reserve_address(OWNER)
                    else:
                        break
            assert seen == [0, 1]

        self.run(case)

    def test_a_probe_of_an_edge_that_is_well_is_silent(self) -> None:
        async def case(world: World) -> None:
            await world.provider.probe()

        self.run(case)
