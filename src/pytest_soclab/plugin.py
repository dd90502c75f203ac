"""The pytest11 entry: hooks that only forward; nothing heavy is imported until a scenario or option of ours appears."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_soclab import fixtures, hookspecs, listener, options, state


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options and ini values."""
    options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the hooks that other plugins implement."""
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Register the fixtures, and let `--soclab-bundled` and a known-answer baseline name what is collected."""
    config.pluginmanager.register(fixtures.Parts(), state.PARTS)
    config.pluginmanager.register(listener.Listener(config), "soclab-listener")
    config.getini("markers").extend(state.MARKERS)
    if options.any_given(config):
        from pytest_soclab import session

        session.prepare(config)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect `ATK-*.yaml` and `BEN-*.yaml`, and touch no other file."""
    if file_path.suffix != ".yaml" or not file_path.name.startswith(("ATK-", "BEN-")):
        return None
    from pytest_soclab import session

    return session.collect_file(file_path, parent)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the known-answer gate's items and keep this shard's scenarios."""
    if state.LAB in config.stash:
        from pytest_soclab import session as ours

        ours.add_known_answers(session, items)
        ours.select(config, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Load the policy before any trial runs."""
    if state.LAB in session.config.stash:
        from pytest_soclab import session as ours

        ours.check(session)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Assemble the results and raise the exit status where a gate says so."""
    if state.RECORDER in session.config.stash or state.LAB in session.config.stash:
        from pytest_soclab import session as ours

        ours.finish(session)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the terminal section."""
    if state.RECORDER in config.stash:
        from pytest_soclab import session

        session.summarise(config, terminalreporter)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Release the policy engine."""
    if state.LAB in config.stash:
        from pytest_soclab import session

        session.close(config)
