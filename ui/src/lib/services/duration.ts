/** A duration in seconds as the two largest units: `2 d 3 h`, `4 min 5 s`. */
export function duration(seconds: number): string {
	const units: [string, number][] = [
		['d', 86_400],
		['h', 3_600],
		['min', 60],
		['s', 1]
	];
	let left = Math.max(0, Math.floor(seconds));
	const parts: string[] = [];
	for (const [unit, size] of units) {
		const count = Math.floor(left / size);
		left -= count * size;
		if (count > 0 || (parts.length === 0 && unit === 's')) parts.push(`${count} ${unit}`);
		if (parts.length === 2) break;
	}
	return parts.join(' ');
}
