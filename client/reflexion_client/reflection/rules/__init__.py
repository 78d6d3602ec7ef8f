"""What we know about the outputs of tools, as data.

`EVIDENCE` is tried from top to bottom and the first rule that matches decides: what is
specific, and what outranks other causes, stands above. A rule of mode `generic` leaves the
kind to `PHRASES`, which are tried on the lines that it matched.

To teach a new tool, add a `Rule` to the table of its kind. Patterns see one line at a time,
without terminal escapes, and are anchored: text *about* errors is seldom at the start of a
line. A pattern must take linear time, so give repeated parts no two ways to match.
"""

from __future__ import annotations

from .access import ACCESS
from .builds import BUILDS
from .checkers import CHECKERS
from .complaints import COMPLAINTS
from .missing import ABSENCES
from .parsing import PARSING
from .phrases import HANDLED, HEALED, LOOSE_PHRASES, PHRASES
from .rule import Proof, Rule
from .runners import RUNNERS

EVIDENCE: tuple[Rule, ...] = (
    *RUNNERS,
    *PARSING,
    *ACCESS,
    *CHECKERS,
    *BUILDS,
    *ABSENCES,
    *COMPLAINTS,
)

__all__ = ["EVIDENCE", "HANDLED", "HEALED", "LOOSE_PHRASES", "PHRASES", "Proof", "Rule"]
