/** The canonical form of JSON (RFC 8785), in which the platform's digests and signatures are computed. */

/** Raised for a value without a canonical form, such as an integer beyond 2^53. */
export class NotCanonical extends Error {}

/** The canonical form of a value of JSON: members sorted, numbers and texts as ECMAScript writes them. Raises `NotCanonical`. */
export function canonical(value: unknown): string {
	if (typeof value === 'string') return canonicalText(value);
	if (typeof value === 'number') return canonicalNumber(value);
	if (typeof value === 'boolean' || value === null) return String(value);
	if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
	if (typeof value !== 'object') throw new NotCanonical(`a value of the type ${typeof value}`);
	const members = value as Record<string, unknown>;
	const names = Object.keys(members).sort(); // by UTF-16 code units, as the RFC asks for
	return `{${names.map((name) => `${canonicalText(name)}:${canonical(members[name])}`).join(',')}}`;
}

function canonicalText(value: string): string {
	if (/\p{Surrogate}/u.test(value)) throw new NotCanonical('a text has half of a surrogate pair');
	return JSON.stringify(value);
}

function canonicalNumber(value: number): string {
	const text = JSON.stringify(value);
	const isInteger = !text.includes('.') && !text.includes('e');
	if (!Number.isFinite(value) || (isInteger && !Number.isSafeInteger(value))) {
		throw new NotCanonical('a number that not every program reads alike');
	}
	return text;
}

/** Whether this browser computes digests here: on https and on loopback only. */
export function hasDigests(): boolean {
	return (globalThis.crypto as Crypto | undefined)?.subtle !== undefined;
}

const encoder = new TextEncoder();

/** The SHA-256 of a text in UTF-8, in hex. */
export async function sha256(text: string): Promise<string> {
	return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text))));
}

/** Bytes in hex. */
export function hex(bytes: Uint8Array): string {
	let text = '';
	for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
	return text;
}

/** The bytes of a base64 text. Raises an error for another text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
	return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** Bytes as base64. */
export function toBase64(bytes: Uint8Array): string {
	return btoa(String.fromCharCode(...bytes));
}
