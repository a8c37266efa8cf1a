"""What a caller asks of a memory, and what it is answered."""

from dataclasses import dataclass, replace

from ranker_service.domain.candidate import Candidate
from ranker_service.domain.profile import Profile, SelectionSettings
from ranker_service.domain.resource import Layer
from ranker_service.domain.trace import Revisions


@dataclass(frozen=True, slots=True)
class ActivationRequest:
    """A query to a project's memory, already checked field by field.

    `max_fragments` and `token_budget` can only narrow what the profile allows. Empty `kinds`, `layers` and
    `path_prefix` do not narrow. `deadline_us` is on the clock's monotonic scale.
    """

    project_id: str
    query: str
    profile: Profile
    activation_state: bytes | None = None
    max_fragments: int | None = None
    token_budget: int | None = None
    kinds: tuple[str, ...] = ()
    layers: tuple[Layer, ...] = ()
    path_prefix: str = ""
    deadline_us: int | None = None

    @property
    def limits(self) -> SelectionSettings:
        """The profile's selection settings, narrowed by the request."""
        settings = self.profile.selection
        return replace(
            settings,
            max_fragments=_narrower(settings.max_fragments, self.max_fragments),
            token_budget=_narrower(settings.token_budget, self.token_budget),
        )


@dataclass(frozen=True, slots=True)
class Activation:
    """What the reply is made of: the very candidates and revisions of the Run's trace.

    `candidates` are in final order. `removed` are the caller's units that are gone, ascending; `next_state` is what it
    sends with its next query.
    """

    run_id: str
    revisions: Revisions
    query_token_count: int
    query_tokens_encoded: int
    candidates: tuple[Candidate, ...]
    removed: tuple[str, ...]
    next_state: bytes

    @property
    def fragments(self) -> tuple[Candidate, ...]:
        """The selected candidates, in final order."""
        return tuple(candidate for candidate in self.candidates if candidate.selected)


def _narrower(allowed: int, wanted: int | None) -> int:
    return allowed if wanted is None else min(allowed, wanted)
