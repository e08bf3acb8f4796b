/** Numbers, times and sizes as people read them. */

const NUMBERS = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });
const SMALL = new Intl.NumberFormat('en-GB', { maximumSignificantDigits: 2 });
const WHOLE = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 });

/** `12,345`, `0.4`. */
export function number(value: number): string {
	return Math.abs(value) >= 100 ? WHOLE.format(value) : NUMBERS.format(value);
}

/** The same with two digits that count, also of small numbers: `0.025`. */
export function precise(value: number): string {
	return Math.abs(value) >= 1 ? number(value) : SMALL.format(value);
}

/** A share (0 to 1) as `41 %`. */
export function percent(share: number): string {
	return `${WHOLE.format(share * 100)} %`;
}

/** A number of MiB: `512 MiB`, `23.4 GiB`. */
export function mebibytes(count: number): string {
	return count < 1024 ? `${WHOLE.format(count)} MiB` : `${(count / 1024).toFixed(1)} GiB`;
}

/** A number of bytes: `512 MiB`, `3 KiB`. */
export function bytesInWords(bytes: number): string {
	return bytes < 1_048_576 ? `${WHOLE.format(Math.ceil(bytes / 1024))} KiB` : mebibytes(bytes / 1_048_576);
}

/** A time (Unix seconds) as `14:03:27`, with its day unless that is today. */
export function clock(seconds: number, now: Date = new Date()): string {
	const at = new Date(seconds * 1000);
	const time = at.toLocaleTimeString('en-GB');
	return at.toDateString() === now.toDateString() ? time : `${at.toLocaleDateString('en-GB')} ${time}`;
}

/** A time (Unix seconds) at the axis of a chart: `14:05`, or `Sat` where days are shown. */
export function axisTime(seconds: number, isDays: boolean): string {
	const at = new Date(seconds * 1000);
	return isDays
		? at.toLocaleDateString('en-GB', { weekday: 'short' })
		: at.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}

/** The present time. */
export function now(): Date {
	return new Date();
}
