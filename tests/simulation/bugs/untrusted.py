"""What one tenant's object does to everybody: Acto's crashes on input, and names that lead elsewhere."""

from __future__ import annotations

from tests.simulation.bugs.bug import Bug, Change

KIND = "untrusted input"
FIRST = ("untrusted/0/calm/",)

BUGS = (
    Bug(
        "names unchecked in paths",
        KIND,
        "a name that an object mentions becomes part of a path as it is",
        (
            Change(
                "seamark_runtime.api.meta",
                "        return api_path(collection, *segments)\n",
                '        return ApiPath("/".join((collection, *segments)))\n',
            ),
            Change("seamark_runtime.api.meta", "segments = [check_name(name, self.names),", "segments = [name,"),
        ),
        FIRST,
    ),
    Bug(
        "one unreadable object interrupts its kind",
        KIND,
        "an object beyond the limits ends the watch, which begins again and finds it again",
        (
            Change(
                "seamark_runtime.watch",
                "        except Malformed as error:\n            meta = self._identity(raw)\n",
                "        except ZeroDivisionError as error:\n            meta = self._identity(raw)\n",
            ),
        ),
        FIRST,
    ),
    Bug(
        "decoding without a limit of depth",
        KIND,
        "an object nested however deep is handed on",
        (Change("seamark_runtime.client", "depth=100)", "depth=900)"),),
        FIRST,
    ),
    Bug(
        "an index function ends the operator",
        KIND,
        "what a sink raises ends the task of the watch",
        (
            Change(
                "seamark_runtime.watch",
                '            log.exception("event not handled", kind=',
                '            raise\n            log.exception("event not handled", kind=',
            ),
            Change(
                "seamark_runtime.watch",
                '                log.exception("the watch failed',
                '                raise\n                log.exception("the watch failed',
            ),
        ),
        FIRST,
    ),
    Bug(
        "reads of a failed pass forgotten",
        KIND,
        "what a pass has read before it failed is followed for ever",
        (
            Change(
                "seamark_runtime.reconciler",
                "            self._router.reads.record(request, view.reads)  # it",
                "            pass  # it",
            ),
            Change(
                "seamark_runtime.reconciler",
                "            self._router.reads.settle(view.reads)\n",
                "            pass\n",
            ),
        ),
        FIRST,
    ),
)
