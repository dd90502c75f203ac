"""Evidence for what an AI agent in a SOC may do, as pytest items. (PYTEST_DONT_REWRITE: nothing is asserted here.)"""

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Return what an agent's author needs, imported at the first use: an idle plugin imports nothing."""
    if not name[:1].isupper():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_soclab import public

    return getattr(public, name)
