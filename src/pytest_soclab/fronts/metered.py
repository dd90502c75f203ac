"""One trial behind the model proxy: its account, its recording, and what its model was shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from pytest_soclab.base.clock import monotonic
from pytest_soclab.base.errors import UsageError
from pytest_soclab.fronts.in_process import Conduct
from pytest_soclab.fronts.line import Line
from pytest_soclab.fronts.model_proxy import Exchange, ModelProxy
from pytest_soclab.fronts.outside import Brief
from pytest_soclab.fronts.recording import Recording, load
from pytest_soclab.fronts.spending import ProxySettings, Spending


class Metered:
    """A model proxy for as long as the trial lasts; `refusal` says why the trial must not begin."""

    def __init__(self, settings: ProxySettings, brief: Brief, line: Line, folder: Path) -> None:
        self.settings, self.brief = settings, brief
        volatile = {"{mcp_host}": urlsplit(line.url).netloc, "{scratch}": str(folder)}
        self.refusal = settings.session.over()
        self.trial = Spending(settings.trial, "trial")
        recording = self._recording(volatile)
        replays = settings.replay is not None
        self.exchange = Exchange((self.trial, settings.session), recording, brief.payload, replays)
        self._proxy = ModelProxy(settings.upstream, self.exchange, line.mask, line.end)
        self._started = self._until = monotonic()
        self._whose = ""
        """Whose limit of time holds: of the trial, of the session, or of neither."""

    def _recording(self, volatile: dict[str, str]) -> Recording:
        if self.settings.replay is None:
            return Recording(volatile, keeps=self.settings.record is not None)
        try:
            return load(self.settings.replay / self._file, volatile)
        except UsageError as error:
            self.refusal = self.refusal or str(error)
            return Recording(volatile)

    @property
    def _file(self) -> str:
        return f"{self.brief.trial}.jsonl"

    @property
    def variables(self) -> dict[str, str]:
        """The variables in which the command finds its model."""
        return self._proxy.variables()

    def patience(self, timeout: float) -> float:
        """Return the seconds that the trial may take, and keep whose limit that is."""
        session, own = self.settings.session, self.settings.trial.time
        left = None if session.limits.time is None else session.limits.time - session.seconds
        known = [(own, "trial"), (left, "session")]
        seconds, self._whose = min([(timeout, ""), *((one, who) for one, who in known if one is not None)])
        self._until = monotonic() + seconds
        return seconds

    def account(self, conducted: Conduct) -> Conduct:
        """Return how the work ended, with what was spent, and why the model's part makes it inconclusive."""
        annex = {**(conducted.annex or {}), "model": self._spent()}
        return replace(conducted, cause=self._over_time(conducted.cause) or self._cause(), annex=annex)

    def _over_time(self, cause: str) -> str:
        """Name the limit where a trial was ended by one, else return the cause as it is."""
        if not (cause and self._whose and monotonic() >= self._until):
            return cause
        return f"the {self._whose}'s time is over (--soclab-max-time): {cause}"

    def _cause(self) -> str:
        if not self.exchange.requests:
            return "the agent asked no model through the proxy; point it at SOCLAB_MODEL_URL or leave the proxy out"
        if set(self.brief.payload) - self.exchange.seen:
            return "the payload was never shown to the agent's model"
        return ""

    def _spent(self) -> dict[str, Any]:
        trial = self.trial
        return {
            "requests": self.exchange.requests,
            "tokens": trial.tokens,
            "cost": f"{trial.cost:.6f}",
            "unpriced": sorted(trial.unpriced),
            "guessed": self.exchange.guessed,
        }

    def __enter__(self) -> Metered:
        """Return the proxy's trial."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        """Stop listening, put the time on the session's account and keep the recording."""
        self._proxy.close()
        self.settings.session.seconds += monotonic() - self._started
        if self.settings.record is not None and self.exchange.recording.entries:
            self.exchange.recording.save(self.settings.record / self._file)
