"""Lets the pytest runs of a test play attacks as they are scripted: the plays have tests of their own."""

import os

if os.environ.get("SOCLAB_TEST_PROCESS") != str(os.getpid()):  # in this process a fixture does it, and undoes it
    from pytest_soclab.trials.plays import catalog

    catalog.STANDARD = ()
