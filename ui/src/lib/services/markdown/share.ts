/** The new value, with the parts of the old one where both are equal: what did not change is the same object. */
export function shared<T>(before: unknown, after: T): T {
	if (Object.is(before, after)) return after;
	if (Array.isArray(before) && Array.isArray(after)) {
		const parts = after.map((part, at): unknown => (at < before.length ? shared(before[at], part) : part));
		const isSame = before.length === parts.length && parts.every((part, at) => part === before[at]);
		return (isSame ? before : parts) as T;
	}
	if (isRecord(before) && isRecord(after)) {
		const parts: Record<string, unknown> = {};
		for (const [key, value] of Object.entries(after)) parts[key] = shared(before[key], value);
		const keys = Object.keys(parts);
		const isSame = keys.length === Object.keys(before).length && keys.every((key) => key in before && parts[key] === before[key]);
		return (isSame ? before : parts) as T;
	}
	return after;
}

function isRecord(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
