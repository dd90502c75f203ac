"""The beyond-human count that a score file states, against the numbered list of its section."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_soclab.known_answer.basis.files import refuse


@dataclass(slots=True)
class Section:
    """A heading with those above it; the file itself is the section of no heading.

    `listed` counts the numbered entries right below the heading, `within` those of its subsections too.
    """

    title: str = ""
    level: int = 0
    parent: Section | None = None
    listed: int = 0
    within: int = 0

    def path(self) -> Iterable[Section]:
        """Yield this section and those around it, innermost first."""
        section: Section | None = self
        while section:
            yield section
            section = section.parent

    def titles(self) -> tuple[str, ...]:
        """Return the headings above what stands here, innermost first."""
        return tuple(above.title for above in self.path() if above.level)

    def count(self) -> None:
        """Count one numbered entry."""
        self.listed += 1
        for around in self.path():
            around.within += 1

    @property
    def names_beyond(self) -> bool:
        """Whether the heading names the facts that the human reports lack."""
        title = self.title.casefold()
        return "beyond" in title or "more than the human" in title


@dataclass(frozen=True, slots=True)
class Stated:
    """A stated beyond-human count, its line, its section."""

    count: int
    line: int
    section: Section


def check(stated: list[Stated], naming: list[Section], path: str) -> int | None:
    """Return the count that a file states; `naming` are the sections whose heading names the facts.

    Raises KnownAnswerError where a numbered list says otherwise, or where there is none.
    """
    for one in stated:
        listed = _listed(one.section, naming)
        if not listed and one.count:
            refuse(
                f"{one.count} facts beyond the human reports, but no numbered list of them",
                path,
                one.line,
                expected=f"a numbered list of {one.count}",
                remedy="list them under a heading such as `## Beyond the human reports`",
            )
        if listed != one.count:
            refuse(
                f"{one.count} facts beyond the human reports, but the numbered list holds {listed}",
                path,
                one.line,
                expected="one number",
                remedy="correct the sentence or the list",
            )
    return stated[0].count if stated else None


def _listed(section: Section, naming: list[Section]) -> int:
    """Return the length of the numbered list that a count in `section` speaks of; 0 where there is none."""
    if not naming:
        return section.listed
    around = [above.within for above in section.path() if above.names_beyond and above.within]
    return around[0] if around else next((named.within for named in naming if named.within), 0)
