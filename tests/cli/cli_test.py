"""The command as a person meets it. Usage: cli_test.py PATH-OF-PEERLANE [unittest's own words]"""

import os
import sys
import unittest

import command
from test_bad_input import *  # noqa: F401,F403
from test_copy import *  # noqa: F401,F403
from test_faults import *  # noqa: F401,F403
from test_other_verbs import *  # noqa: F401,F403

if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: cli_test.py PATH-OF-PEERLANE [TEST ...]")
    command.path = os.path.abspath(sys.argv.pop(1))
    unittest.main()
