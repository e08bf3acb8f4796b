/** Numbers of the chat in a language (BCP 47). */

const formats = new Map<string, Intl.NumberFormat>();

function format(code: string, digits: number, compact = false): Intl.NumberFormat {
	const key = `${code} ${digits} ${compact}`;
	let found = formats.get(key);
	if (!found) {
		found = new Intl.NumberFormat(code, { maximumFractionDigits: digits, ...(compact && { notation: 'compact' }) });
		formats.set(key, found);
	}
	return found;
}

/** `12,345`. */
export function whole(value: number, code: string): string {
	return format(code, 0).format(value);
}

/** `38.4`, `112`. */
export function rate(value: number, code: string): string {
	return format(code, value < 100 ? 1 : 0).format(value);
}

/** `950`, `8.2K`. */
export function short(value: number, code: string): string {
	return format(code, value < 1000 ? 0 : 1, true).format(value);
}

/** A share (0 to 1): `41 %`. */
export function percent(share: number, code: string): string {
	return `${whole(share * 100, code)} %`;
}

/** A duration: `34 ms`, `0.4 s`, `12 s`, `2 min 5 s`, `1 h 3 min`. */
export function span(ms: number, code: string): string {
	if (ms > 0 && ms < 95) return `${whole(Math.max(1, ms), code)} ms`;
	const seconds = Math.max(0, ms) / 1000;
	if (seconds < 10) return `${format(code, 1).format(seconds)} s`;
	if (seconds < 59.5) return `${whole(seconds, code)} s`;
	const minutes = Math.floor(Math.round(seconds) / 60);
	if (minutes < 60) return `${minutes} min ${Math.round(seconds) % 60} s`;
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
