"""What the status says: lies, noise and secrets."""

from __future__ import annotations

from tests.simulation.bugs.bug import Bug, Change

KIND = "wrong words"

BUGS = (
    Bug(
        "transition time always now",
        KIND,
        "every write of a status moves all transition times",
        (
            Change(
                "core/conditions.py",
                "        flipped = before is None or",
                "        flipped = True or before is None or",
            ),
        ),
    ),
    Bug(
        "transition time never",
        KIND,
        "a flip keeps the time of the word before",
        (
            Change(
                "core/conditions.py",
                "before is None or before.status != judged.status or before",
                "before is None or before",
            ),
        ),
    ),
    Bug(
        "no observed generation",
        KIND,
        "conditions do not say which generation they speak of",
        (
            Change(
                "core/conditions.py",
                "last_transition_time=time, observed_generation=self.generation)",
                "last_transition_time=time)",
            ),
        ),
    ),
    Bug(
        "generation ahead",
        KIND,
        "the status speaks of a generation that does not exist yet",
        (
            Change(
                "core/speaker.py",
                "stamp = Stamp(obj.metadata.generation or None,",
                "stamp = Stamp(obj.metadata.generation + 1,",
            ),
        ),
    ),
    Bug(
        "said again at each pass",
        KIND,
        "the status is written whether it differs or not",
        (Change("core/speaker.py", "        if status == said:\n", "        if False:\n"),),
    ),
    Bug(
        "event at each pass",
        KIND,
        "every pass tells that it has passed",
        (
            Change(
                "core/speaker.py",
                "        if status == said:\n",
                "        from seamark.core.events import Notice\n"
                '        self.events.notice(obj, Notice("Reconciled", f"at {now}", warning=False))\n'
                "        if status == said:\n",
            ),
        ),
    ),
    Bug(
        "unknown counts as good",
        KIND,
        "the summary is True while a part of it is Unknown",
        (
            Change(
                "core/conditions.py",
                "    bad = [part for part in parts if part.status != TRUE]\n",
                "    bad = [part for part in parts if part.status == FALSE]\n",
            ),
        ),
        first=("unverified/0/calm/",),
    ),
    Bug(
        "no answer is good news",
        KIND,
        "a board that has not answered yet is said to show the text",
        (
            Change(
                "families/sample/reconcile.py",
                '            return POSTED.not_yet("Posting", "The board has not answered yet")\n',
                '            return POSTED.true("Posted", "The board shows the text")\n',
            ),
        ),
        first=("sample/0/calm/4:OUTSIDE_HANGS",),
    ),
    Bug(
        "failure is good news",
        KIND,
        "a failing board is not told",
        (
            Change(
                "families/sample/reconcile.py",
                '            return POSTED.false("BoardFailed", message)\n        case NotYet():\n',
                '            return POSTED.true("Posted", message)\n        case NotYet():\n',
            ),
        ),
        first=("sample/0/calm/4:OUTSIDE_REFUSES",),
    ),
    Bug(
        "reference to a stranger",
        KIND,
        "the status points to a ConfigMap that is not ours",
        (
            Change(
                "families/sample/reconcile.py",
                "config_map_ref=ConfigMapRef(name=ref.name) if ref else None",
                "config_map_ref=ConfigMapRef(name=seen.greeting.metadata.name)",
            ),
        ),
    ),
    Bug(
        "secret in the status",
        KIND,
        "the words of a refusal are said as they came",
        (Change("core/conditions.py", "        message = redact(message)\n", ""),),
        first=("sample/0/calm/1:SECRET",),
    ),
    Bug(
        "secret in the log",
        KIND,
        "the words of a refusal are logged as they came",
        (Change("core/log.py", "    return redact(str(value))\n", "    return str(value)\n"),),
        first=("sample/0/calm/3:SECRET",),
    ),
)
