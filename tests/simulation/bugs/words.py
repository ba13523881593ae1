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
                "seamark_runtime.conditions",
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
                "seamark_runtime.conditions",
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
                "seamark_runtime.conditions",
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
                "seamark_runtime.statuswriter",
                "stamp = Stamp(obj.metadata.generation or None,",
                "stamp = Stamp(obj.metadata.generation + 1 or None,",
            ),
        ),
    ),
    Bug(
        "said again at each pass",
        KIND,
        "the status is written whether it differs or not",
        (Change("seamark_runtime.statuswriter", "        if status == published:\n", "        if False:\n"),),
    ),
    Bug(
        "event at each pass",
        KIND,
        "every pass tells that it has passed",
        (
            Change(
                "seamark_runtime.statuswriter",
                "        if status == published:\n",
                "        from seamark_runtime.events import Notice\n"
                '        self.events.notice(obj, Notice("Reconciled", f"at {now}", warning=False))\n'
                "        if status == published:\n",
            ),
        ),
    ),
    Bug(
        "unknown counts as good",
        KIND,
        "the summary is True while a part of it is Unknown",
        (
            Change(
                "seamark_runtime.conditions",
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
                "seamark.families.sample.reconcile",
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
                "seamark.families.sample.reconcile",
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
                "seamark.families.sample.reconcile",
                "config_map_ref=ConfigMapRef(name=ref.name) if ref else None",
                "config_map_ref=ConfigMapRef(name=seen.greeting.metadata.name)",
            ),
        ),
    ),
    Bug(
        "secret in the status",
        KIND,
        "the words of a refusal are said as they came",
        (Change("seamark_runtime.conditions", "        message = redact(message, LONGEST_MESSAGE)\n", ""),),
        first=("sample/0/calm/1:SECRET",),
    ),
    Bug(
        "secret in the log",
        KIND,
        "the words of a refusal are logged as they came",
        (Change("seamark_runtime.log", "    return redact(str(value), LONGEST_VALUE)\n", "    return str(value)\n"),),
        first=("sample/0/calm/3:SECRET",),
    ),
    Bug(
        "words without end",
        KIND,
        "the words of a refusal are said in full, however long they are",
        (
            Change(
                "seamark_runtime.conditions",
                "        message = redact(message, LONGEST_MESSAGE)\n",
                "        message = redact(message)\n",
            ),
        ),
        first=("sample/0/calm/1:SECRET",),
    ),
)
