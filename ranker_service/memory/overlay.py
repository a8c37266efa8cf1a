"""The overlay: which resource of a project's layers counts."""

from collections.abc import Sequence

from ranker_service.domain.resource import EffectiveMemory, Resource


def overlay(
    project_id: str, organization: Sequence[Resource], project: Sequence[Resource], draft: Sequence[Resource]
) -> EffectiveMemory:
    """Return the Effective Memory: by path, the draft over the project over the organization.

    Where a resource id would then stand for two paths, as when a draft moves a resource, the higher layer's stays.
    """
    layers = (organization, project, draft)
    by_path = {resource.path: resource for layer in layers for resource in layer}
    by_id: dict[str, Resource] = {}
    for layer in layers:
        by_id.update((resource.resource_id, resource) for resource in layer if by_path[resource.path] is resource)
    return EffectiveMemory.of(project_id, by_id.values())
