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
                "core/expectations.py",
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
                "core/expectations.py",
                "        if expectation.informer.listed > expectation.lists:\n            self._parked.add(item)\n",
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
                "core/speaker.py",
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
                "core/watch.py",
                "                sink(Trouble(error, self._silent()))\n",
                '                sink(Trouble(error, self._silent()))\n                self.version = ""\n',
            ),
        ),
        first=("sample/0/calm/15:CUT", "sample/0/calm/14:CUT"),
    ),
    Bug(
        "a cache of the past",
        KIND,
        "after a long silence it is judged from one cache that has caught up and another that has not",
        (Change("core/behind.py", "        if behind is None:\n", "        if behind is None or behind.trouble:\n"),),
        first=("sample/0/calm/13:RESET_AFTER,14:HALF_OPEN",),
    ),
    Bug(
        "410 ignored",
        KIND,
        "a watch whose version is too old asks for it again and again",
        (
            Change(
                "core/watch.py",
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
                "core/cache.py",
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
        (Change("core/watch.py", "async with asyncio.timeout(idle):", "async with asyncio.timeout(None):"),),
        first=("sample/0/calm/5:HALF_OPEN",),
    ),
    Bug(
        "answer to another question",
        KIND,
        "what was confirmed for an older text is taken for this one",
        (
            Change(
                "core/calls.py",
                "if answer is None or answer.action != call.action:",
                "if answer is None:",
            ),
            Change(
                "core/calls.py",
                "            after[call.target] = self._start(item, _Slot(call, uid, self._now()))\n",
                "            old = slot and slot.answer\n"
                "            after[call.target] = self._start(item, _Slot(call, uid, self._now(), old))\n",
            ),
        ),
    ),
    Bug(
        "shelf life ignored",
        KIND,
        "what was verified once is believed for ever",
        (
            Change(
                "core/calls.py",
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
                "core/passes.py",
                "        again = min(view.again, self._services.calls.expiry(item))\n",
                "        again = view.again\n",
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
                "core/conditions.py",
                "                return before\n",
                "                return msgspec.structs.replace(before, observed_generation=self.generation)\n",
            ),
            Change(
                "core/conditions.py",
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
                "core/conditions.py",
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
                "core/passes.py",
                "        self._waker.dependencies.record(item, view.reads)\n        return found\n",
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
                "core/cache.py",
                "            for value in old - new:\n",
                "            for value in old - new if after else ():\n",
            ),
        ),
    ),
    Bug(
        "echo too wide",
        KIND,
        "every change of a status is taken for our own",
        (
            Change(
                "core/waker.py",
                "change.after.metadata.resource_version == self._echoes.get(item)",
                "not change.of_intent",
            ),
        ),
    ),
)
