/**
 * A signer's private key, as `stoker op keygen` writes it: Ed25519, PKCS #8 in PEM without a password. The key stays in this
 * page: it becomes a `CryptoKey` that cannot be read again, and its bytes are overwritten.
 */

/** Bytes of a file with a key; a longer one holds none. */
export const MOST_KEY_BYTES = 4096;

/** Why a file is no key to sign with. */
export type KeyProblem = 'tooLong' | 'encrypted' | 'public' | 'otherForm' | 'notEd25519';

export class UnusableKey extends Error {
	constructor(readonly reason: KeyProblem) {
		super(reason);
	}
}

/** Whether this browser can sign on this page: not outside https and loopback, and not if it does not know Ed25519. */
export async function signingSupport(): Promise<'yes' | 'insecure' | 'unsupported'> {
	const subtle = (globalThis.crypto as Crypto | undefined)?.subtle;
	if (subtle === undefined) return 'insecure';
	try {
		await subtle.importKey('pkcs8', pkcs8Of(new Uint8Array(SEED_BYTES)), 'Ed25519', false, ['sign']);
		return 'yes';
	} catch {
		return 'unsupported';
	}
}

/** The key of a file's content, which is overwritten. Raises `UnusableKey`. */
export async function importSigningKey(content: Uint8Array): Promise<CryptoKey> {
	let seed: Uint8Array | undefined;
	let encoded: Uint8Array<ArrayBuffer> | undefined;
	try {
		seed = seedOf(content);
		encoded = pkcs8Of(seed);
		return await crypto.subtle.importKey('pkcs8', encoded, 'Ed25519', false, ['sign']);
	} finally {
		content.fill(0);
		seed?.fill(0);
		encoded?.fill(0);
	}
}

/** The 32 bytes of the private key in a file (RFC 8410). Raises `UnusableKey`. */
export function seedOf(content: Uint8Array): Uint8Array {
	if (content.length > MOST_KEY_BYTES) throw new UnusableKey('tooLong');
	const begin = indexOf(content, BEGIN);
	const end = indexOf(content, END);
	if (begin < 0 || end < begin) {
		if (indexOf(content, 'ENCRYPTED') >= 0) throw new UnusableKey('encrypted');
		throw new UnusableKey(indexOf(content, 'BEGIN PUBLIC KEY') >= 0 ? 'public' : 'otherForm');
	}
	const der = decodeBase64(content.subarray(begin + BEGIN.length, end));
	try {
		return readSeed(der);
	} finally {
		der.fill(0);
	}
}

const BEGIN = '-----BEGIN PRIVATE KEY-----';
const END = '-----END PRIVATE KEY-----';
const SEED_BYTES = 32;
/** An `AlgorithmIdentifier` with the object identifier 1.3.101.112, Ed25519. */
const ED25519 = [0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70];

/** A private key as PKCS #8, version 1. */
function pkcs8Of(seed: Uint8Array): Uint8Array<ArrayBuffer> {
	return Uint8Array.from([0x30, 0x2e, 0x02, 0x01, 0x00, ...ED25519, 0x04, 0x22, 0x04, 0x20, ...seed]);
}

/** The private key of PKCS #8, version 1 or 2: SEQUENCE { version, algorithm, OCTET STRING { OCTET STRING }, ... }. */
function readSeed(der: Uint8Array): Uint8Array {
	const head = 5; // the SEQUENCE with a length of one byte, and the version
	const algorithm = der.subarray(head, head + ED25519.length);
	const key = der.subarray(head + ED25519.length);
	const isEd25519 = der[0] === 0x30 && der[2] === 0x02 && der[3] === 0x01 && ED25519.every((byte, at) => algorithm[at] === byte);
	const isKey = key[0] === 0x04 && key[1] === 0x22 && key[2] === 0x04 && key[3] === SEED_BYTES;
	if (!isEd25519 || !isKey || key.length < 4 + SEED_BYTES) throw new UnusableKey('notEd25519');
	return key.slice(4, 4 + SEED_BYTES);
}

/** Base64 without a text in between, which could not be overwritten. Raises `UnusableKey`. */
function decodeBase64(text: Uint8Array): Uint8Array {
	const bytes = new Uint8Array(Math.ceil(text.length * 0.75));
	let length = 0;
	let bits = 0;
	let count = 0;
	for (const code of text) {
		const value = ALPHABET.indexOf(String.fromCharCode(code));
		if (value < 0) {
			if (SKIPPED.includes(code)) continue;
			bytes.fill(0);
			throw new UnusableKey('otherForm');
		}
		bits = (bits << 6) | value;
		count += 6;
		if (count >= 8) {
			count -= 8;
			bytes[length++] = (bits >> count) & 0xff;
		}
	}
	return bytes.subarray(0, length);
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const SKIPPED = [0x0a, 0x0d, 0x20, 0x09, 0x3d]; // white space, and the padding

function indexOf(content: Uint8Array, text: string): number {
	const codes = [...text].map((character) => character.charCodeAt(0));
	return content.findIndex((_, at) => codes.every((code, place) => content[at + place] === code));
}
