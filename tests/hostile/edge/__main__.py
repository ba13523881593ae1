"""python -m tests.hostile.edge"""

from __future__ import annotations

import sys

from tests.hostile.edge.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
