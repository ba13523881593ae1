"""What comes after a failure: Sieve's intermediate states, and the queue."""

from __future__ import annotations

from tests.simulation.bugs.bug import Bug, Change

KIND = "intermediate state and retries"

BUGS = (
    Bug(
        "made once, done for ever",
        KIND,
        "the first write of a child is taken for all that there is to do",
        (
            Change(
                "seamark_runtime.apply",
                "        patch = difference(wanted, live)\n",
                "        return live\n        patch = difference(wanted, live)\n",
            ),
        ),
    ),
    Bug(
        "timeout taken for success",
        KIND,
        "a create without an answer counts as made",
        (
            Change(
                "seamark_runtime.apply",
                "            except Exists:\n                live",
                "            except Uncertain:\n"
                "                return wanted\n"
                "            except Exists:\n"
                "                live",
            ),
            Change(
                "seamark_runtime.apply",
                "import Exists, Gone, Refused, Retry",
                "import Exists, Gone, Refused, Retry, Uncertain",
            ),
        ),
        first=("sample/0/calm/1:HANG_BEFORE",),
    ),
    Bug(
        "edge-triggered cleanup",
        KIND,
        "only the process that has posted knows that something is to be taken down",
        (
            Change(
                "seamark.families.sample.reconcile",
                "def desire(seen: Seen) -> Wanted:\n    posted = seen.greeting.annotation(POSTED_ON)\n",
                "def desire(seen: Seen) -> Wanted:\n"
                '    posted = seen.greeting.annotation(POSTED_ON) if seen.results.answers else ""\n',
            ),
        ),
        first=("sample/0/calm/29:CRASH_BEFORE", "sample/0/calm/28:CRASH_AFTER"),
    ),
    Bug(
        "old board forgotten",
        KIND,
        "a change of the board posts on the new one and leaves the old one as it is",
        (
            Change(
                "seamark.families.sample.reconcile",
                "    if posted and posted != board and not retracted(seen, posted):\n",
                "    if False:\n",
            ),
        ),
    ),
    Bug(
        "effect before the finalizer",
        KIND,
        "the outside is called before our finalizer was acknowledged",
        (
            Change(
                "seamark_runtime.reconciler",
                "        obj, unmarked = await self._mark(request, controller, obj, wanted, lasting=lasting)\n",
                "        services.calls.want(request, obj.uid, wanted.calls)\n"
                "        if not obj.deleting and missing_marks(controller, obj, wanted):\n"
                "            await asyncio.sleep(0.1)\n"
                "        obj, unmarked = await self._mark(request, controller, obj, wanted, lasting=lasting)\n",
            ),
            Change(
                "seamark_runtime.reconciler",
                "from collections.abc import",
                "import asyncio\nfrom collections.abc import",
            ),
        ),
    ),
    Bug(
        "finalizer gone too early",
        KIND,
        "an object is let go before what is outside was taken down",
        (Change("seamark.families.sample.reconcile", "finalizer=not retracted(seen, posted))", "finalizer=False)"),),
        first=tuple(f"sample/0/calm/{place}:OUTSIDE_REFUSES" for place in (27, 28, 29)),
    ),
    Bug(
        "deletion not noticed",
        KIND,
        "an object that is being deleted is worked on as if it stayed",
        (
            Change(
                "seamark.families.sample.reconcile",
                "    if seen.greeting.deleting:\n        return Wanted(calls",
                "    if False:\n        return Wanted(calls",
            ),
        ),
    ),
    Bug(
        "no retry",
        KIND,
        "after a failure a key waits for the next change",
        (
            Change(
                "seamark_runtime.loop",
                "                queue.add_failed(request, after or 0.0)\n",
                "                queue.succeeded(request)\n",
            ),
        ),
        first=("sample/0/calm/1:ERROR",),
    ),
    Bug(
        "conflict given up",
        KIND,
        "after a conflict nobody tries again",
        (
            Change(
                "seamark_runtime.loop",
                "                queue.add_failed(request)  # the cache is stale: the event is on its way\n",
                "                queue.succeeded(request)\n",
            ),
        ),
        first=tuple(f"sample/0/calm/{place}:CONFLICT" for place in (20, 24)),
    ),
    Bug(
        "refusal given up",
        KIND,
        "after a refusal of a child nobody tries again",
        (Change("seamark_runtime.reconciler", "if trouble is not None or refused:", "if trouble is not None:"),),
        first=("sample/0/calm/1:QUOTA",),
    ),
    Bug(
        "Retry-After ignored",
        KIND,
        "a server that asks for time is asked again at once",
        (
            Change(
                "seamark_runtime.loop",
                "                queue.add_failed(request, after or 0.0)\n",
                "                queue.add_failed(request)\n",
            ),
        ),
        first=("sample/0/calm/1:THROTTLE",),
    ),
    Bug(
        "Retry-After forgotten",
        KIND,
        "a second error in the same pass makes forget what the server has asked for",
        (
            Change(
                "seamark_runtime.reconciler",
                "            self._dependencies.queue.hold(request, trouble.after)\n",
                "            pass\n",
            ),
        ),
        first=("sample/0/calm/1:ERROR,2:ERROR,3:ERROR,4:THROTTLE,5:CONFLICT",),
    ),
    Bug(
        "held key lost",
        KIND,
        "a key that is due while it is held never comes again",
        (
            Change(
                "seamark_runtime.queue",
                "                del self._later[request]  # first: `add` may set it anew, for a key that is held\n",
                "",
            ),
        ),
        first=("sample/0/calm/1:ERROR,2:ERROR,3:ERROR,4:THROTTLE,5:ERROR",),
    ),
    Bug(
        "retry storm",
        KIND,
        "a failed key is tried again without a pause",
        (
            Change(
                "seamark_runtime.queue",
                "        self.add_after(request, max(at_least, self._backoff.pause(self._random, failures)))\n",
                "        self.add_after(request, max(at_least, 0.001))\n",
            ),
        ),
        first=("sample/0/calm/1:RBAC",),
    ),
    Bug(
        "key lost in a worker",
        KIND,
        "a key that is added while it is worked on does not come again",
        (Change("seamark_runtime.queue", "            self._again.add(request)\n", "            pass\n"),),
    ),
    Bug(
        "call not tried again",
        KIND,
        "a call to the outside that failed is not repeated",
        (
            Change(
                "seamark_runtime.calls",
                "            pause = self._pause(slot, outcome)\n",
                '            pause = float("inf")\n',
            ),
        ),
        first=("sample/0/calm/4:OUTSIDE_REFUSES",),
    ),
    Bug(
        "leftover keys",
        KIND,
        "what somebody added to a child's map stays",
        (
            Change(
                "seamark_runtime.difference",
                "    return {**changed, **{k: None for k in have if k not in want}}\n",
                "    return changed\n",
            ),
        ),
    ),
)
