"""What every test shares: hypothesis measures no time, for a busy machine is no fault of the code."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("soclab", deadline=None)
settings.load_profile("soclab")
