"""Holds a level down to L3 where nobody vouches that the policy was decided as OPA would decide it."""

from __future__ import annotations

from pytest_soclab.assurance.profile import Profile
from pytest_soclab.evidence.results import Level, LevelDecision, NextLevel, PolicyInfo, Unmet

HIGHEST_UNCHECKED = Level.L3
_RULE = "policy checked by OPA"
_NEED = "an `opa` 1.x on the PATH, or --soclab-opa-binary"


def vouched(decision: LevelDecision, policy: PolicyInfo | None, profile: Profile) -> LevelDecision:
    """Return the decision, at most L3 where the policy is one that neither OPA nor a known digest vouches for.

    What does not say who checked it was checked by nobody.
    """
    if policy is None or policy.checked_by.startswith("opa") or policy.checked_by == "bundled digest":
        return decision
    unmet = Unmet(rule=_RULE, have=policy.checked_by or "not stated", need=_NEED)
    if decision.recommended is not None and decision.recommended.rank > HIGHEST_UNCHECKED.rank:
        return _held_down(decision, unmet, profile)
    if decision.next is not None and decision.next.level.rank > HIGHEST_UNCHECKED.rank:
        following = decision.next.model_copy(update={"unmet": (*decision.next.unmet, unmet)})
        return decision.model_copy(update={"next": following})
    return decision


def _held_down(decision: LevelDecision, unmet: Unmet, profile: Profile) -> LevelDecision:
    above = next(level for level in profile.levels if level.rank == HIGHEST_UNCHECKED.rank + 1)
    rung = profile.levels[above]
    following = NextLevel(
        level=above,
        unmet=(unmet,),
        attack_success_limit=rung.attack_success,
        false_block_limit=rung.false_block,
        delivery_limit=rung.delivery,
    )
    reason = f"the policy was {unmet.have}: no level above {HIGHEST_UNCHECKED.value} without ({_NEED})"
    update = {"recommended": HIGHEST_UNCHECKED, "why": (reason, *decision.why), "next": following}
    return decision.model_copy(update=update)
