"""Acting on what is no longer so: Sieve's stale states and unobserved states."""

from __future__ import annotations

from tests.simulation.bugs.bug import Bug, Change

KIND = "stale or unobserved state"

BUGS = (
    Bug(
        "no expectations",
        KIND,
        "after a write the next pass looks at a cache that does not have it yet",
        (
            Change(
                "seamark_runtime.expectations",
                "        if expectation.holds():\n            return\n        self._of",
                "        return\n        self._of",
            ),
        ),
        first=("sample/0/calm/3:LAG",),
    ),
    Bug(
        "list without a look",
        KIND,
        "what a new list does not show of our writes is not looked for",
        (
            Change(
                "seamark_runtime.expectations",
                "        if expectation.informer.listed > expectation.lists:\n            self._parked.add(request)\n",
                "",
            ),
        ),
        first=("sample/0/calm/16:GONE",),
    ),
    Bug(
        "live generation on a cached result",
        KIND,
        "the status is judged from the cache and stamped with the generation that is live",
        (
            Change(
                "seamark_runtime.statuswriter",
                "        now = self.clock.monotonic()\n        mode",
                "        now = self.clock.monotonic()\n"
                "        obj = await self.client.get(type(obj), obj.key)\n"
                "        mode",
            ),
        ),
    ),
    Bug(
        "resumes without a list",
        KIND,
        "a watch that was cut begins anew from now on, and never hears what was deleted meanwhile",
        (
            Change(
                "seamark_runtime.watch",
                "            except SeamarkError as error:\n",
                '            except SeamarkError as error:\n                self.version = ""\n',
            ),
        ),
        first=("sample/0/calm/15:CUT", "sample/0/calm/14:CUT"),
    ),
    Bug(
        "a cache of the past",
        KIND,
        "after a long silence it is judged from one cache that has caught up and another that has not",
        (
            Change(
                "seamark_runtime.stalecaches",
                "        if behind is None:\n",
                "        if behind is None or behind.trouble:\n",
            ),
        ),
        first=("sample/0/calm/13:RESET_AFTER,14:HALF_OPEN",),
    ),
    Bug(
        "410 ignored",
        KIND,
        "a watch whose version is too old asks for it again and again",
        (
            Change(
                "seamark_runtime.watch",
                "            except Expired:\n                self._start_over()\n",
                "            except Expired:\n",
            ),
        ),
        first=("sample/0/calm/5:GONE",),
    ),
    Bug(
        "the gone stay",
        KIND,
        "a new list does not remove what is not in it",
        (
            Change(
                "seamark_runtime.cache",
                "        return [self.remove(key) for key in gone]\n",
                "        return [self.remove(key) for key in gone[:0]]\n",
            ),
        ),
        first=("sample/0/calm/28:RESTORE", "sample/0/calm/28:RESTORE_BUMPED", "sample/0/calm/11:RESTORE"),
    ),
    Bug(
        "half-open for ever",
        KIND,
        "a connection without a word is trusted",
        (Change("seamark_runtime.watch", "async with asyncio.timeout(idle):", "async with asyncio.timeout(None):"),),
        first=("sample/0/calm/5:HALF_OPEN",),
    ),
    Bug(
        "answer to another question",
        KIND,
        "what was confirmed for an older text is taken for this one",
        (
            Change(
                "seamark_runtime.calls",
                "if answer is None or answer.action != call.action:",
                "if answer is None:",
            ),
            Change(
                "seamark_runtime.calls",
                "            after[call.target] = self._start(request, _Slot(call, uid, self._now()))\n",
                "            old = slot and slot.answer\n"
                "            after[call.target] = self._start(request, _Slot(call, uid, self._now(), old))\n",
            ),
        ),
    ),
    Bug(
        "shelf life ignored",
        KIND,
        "what was verified once is believed for ever",
        (
            Change(
                "seamark_runtime.calls",
                '        expires = float("inf") if isinstance(outcome, Failed) else self._now() + call.shelf_life\n',
                '        expires = float("inf")\n',
            ),
        ),
        first=("unverified/0/calm/",),
    ),
    Bug(
        "no timer for old evidence",
        KIND,
        "nobody looks again at the moment when evidence gets old",
        (
            Change(
                "seamark_runtime.reconciler",
                "        expires = min(view.requeue_at, self._dependencies.calls.expiry(request))\n",
                "        expires = view.requeue_at\n",
            ),
        ),
        first=("unverified/0/calm/",),
    ),
    Bug(
        "old word for a new generation",
        KIND,
        "while nobody has answered, what was said of the last generation is said of this one",
        (
            Change(
                "seamark_runtime.conditions",
                "                return before\n",
                "                return msgspec.structs.replace(before, observed_generation=self.generation)\n",
            ),
            Change(
                "seamark_runtime.conditions",
                "return before.observed_generation == self.generation and before.status != UNKNOWN",
                "return before.status != UNKNOWN",
            ),
        ),
        first=("sample/0/calm/19:OUTSIDE_HANGS",),
    ),
    Bug(
        "a restart un-says",
        KIND,
        "what was verified before a restart is Unknown until it is verified again",
        (
            Change(
                "seamark_runtime.conditions",
                "if before is not None and self.awaiting_stands and not judged.finding and self._is_ours(before):",
                "if False:",
            ),
        ),
    ),
    Bug(
        "dependency not recorded",
        KIND,
        "what a pass has read does not wake its key when it changes",
        (
            Change(
                "seamark_runtime.reconciler",
                "        self._router.reads.record(request, view.reads)\n        return found\n",
                "        return found\n",
            ),
        ),
    ),
    Bug(
        "index not kept",
        KIND,
        "an index does not notice that an object has gone",
        (
            Change(
                "seamark_runtime.cache",
                "        for value in set(old).difference(new):\n",
                "        for value in set(old).difference(new) if new else ():\n",
            ),
        ),
    ),
    Bug(
        "echo too wide",
        KIND,
        "every change of a status is taken for our own",
        (
            Change(
                "seamark_runtime.router",
                "change.after.metadata.resource_version == self._own_writes.get(request)",
                "not change.of_intent",
            ),
        ),
    ),
)
