/** The elements in groups of `size`, in their order; the last group has what is left. */
export function inGroups<T>(all: readonly T[], size: number): T[][] {
	const groups: T[][] = [];
	for (let at = 0; at < all.length; at += size) groups.push(all.slice(at, at + size));
	return groups;
}
