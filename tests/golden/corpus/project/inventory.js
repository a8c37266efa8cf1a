// Counts what lies on the shelves.

/** Return how many parts of a tag lie on all shelves together. */
export function countSpares(shelves, tag) {
  return Object.values(shelves).reduce((sum, shelf) => sum + (shelf[tag] ?? 0), 0);
}

/** Return the tags of which fewer than the minimum are left, in order. */
export function partsToOrder(shelves, minimum) {
  const tags = new Set(Object.values(shelves).flatMap((shelf) => Object.keys(shelf)));
  return [...tags].filter((tag) => countSpares(shelves, tag) < minimum).sort();
}
