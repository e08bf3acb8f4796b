import type { components } from '$lib/api/schema';
import type { ChainCheck } from '$lib/services/audit_chain';
import { canonical, fromBase64, hex } from '$lib/services/canonical';

export type SignedHead = components['schemas']['AuditHead'];

const PREFIX = 'stoker-audit-head-v1\n';
const FIELDS = 'at,digest,keyId,number,publicKey,runner,signature';
const TYPES = { at: 'number', digest: 'string', keyId: 'string', number: 'number', publicKey: 'string', runner: 'string' };

/** The head in the text of a file, as `GET /v1/governance/audit/head` answered it. Undefined if it is none. */
export function parseHead(text: string): SignedHead | undefined {
	try {
		const values = JSON.parse(text) as Record<string, unknown>;
		if (Object.keys(values).sort().join() !== FIELDS || !Number.isSafeInteger(values['number'])) return undefined;
		const fits = Object.entries(TYPES).every(([name, type]) => typeof values[name] === type);
		return fits && typeof values['signature'] === 'string' ? (values as unknown as SignedHead) : undefined;
	} catch {
		return undefined;
	}
}

/** Whether a head is signed by the key that it names. Undefined: this browser does not know Ed25519. */
export async function isSigned(head: SignedHead): Promise<boolean | undefined> {
	const { signature, ...covered } = head;
	let publicKey: Uint8Array<ArrayBuffer>;
	let value: Uint8Array<ArrayBuffer>;
	try {
		publicKey = fromBase64(head.publicKey);
		value = fromBase64(signature);
	} catch {
		return false;
	}
	const id = hex(new Uint8Array(await crypto.subtle.digest('SHA-256', publicKey))).slice(0, 16);
	if (id !== head.keyId || publicKey.length !== 32) return false;
	let key: CryptoKey;
	try {
		key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify']);
	} catch {
		return undefined;
	}
	return crypto.subtle.verify('Ed25519', key, value, new TextEncoder().encode(PREFIX + canonical(covered)));
}

/** What a head shows about a chain without a finding; undefined if the head's record is in it. */
export type HeadProblem = { kind: 'shortened'; end: number; missing: number } | { kind: 'older'; first: number } | { kind: 'replaced' };

/** The head's number must be one of those that the check was asked for. */
export function headProblem(head: SignedHead, check: ChainCheck): HeadProblem | undefined {
	if (head.number === 0) return undefined;
	if (!check.first || !check.last || check.last.number < head.number) {
		return { kind: 'shortened', end: check.last?.number ?? 0, missing: head.number };
	}
	if (head.number < check.first.number) return { kind: 'older', first: check.first.number };
	return check.digests.get(head.number) === head.digest ? undefined : { kind: 'replaced' };
}
