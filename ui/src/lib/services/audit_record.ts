import type { components } from '$lib/api/schema';
import { canonical, NotCanonical, sha256 } from '$lib/services/canonical';

export type AuditRecord = components['schemas']['AuditRecordObject'];

/** The `previous` of record 1. */
export const GENESIS = '0'.repeat(64);

const FIELDS = JSON.stringify(
	['action', 'actor', 'at', 'authority', 'detail', 'digest', 'entry', 'number', 'outcome', 'previous', 'subject']
);

/** Why a line is no record. */
export type Damage = 'notJson' | 'otherFields' | 'noForm' | 'otherDigest' | 'otherBytes' | 'noNumber' | 'tooLong';

/** The longest line of a record; a record has a few KB. */
export const MOST_LINE_BYTES = 1 << 20;

/**
 * The record of a line, which must be exactly the bytes that the platform makes: the digest is that of the canonical form
 * (RFC 8785) without `digest`, and the line is the canonical form. What `governance/audit/record.py` checks.
 */
export async function parseRecord(line: Uint8Array): Promise<AuditRecord | Damage> {
	if (line.length > MOST_LINE_BYTES) return 'tooLong';
	let text: string;
	let values: unknown;
	try {
		// a byte order mark and a wrong byte are no part of a record, and must not get lost
		text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
		values = JSON.parse(text);
	} catch {
		return 'notJson';
	}
	if (typeof values !== 'object' || values === null) return 'otherFields';
	if (JSON.stringify(Object.keys(values).sort()) !== FIELDS) return 'otherFields';
	const { digest, ...covered } = values as AuditRecord;
	try {
		const form = canonical(values);
		if ((await sha256(canonical(covered))) !== digest) return 'otherDigest';
		if (form !== text) return 'otherBytes';
	} catch (error) {
		// RangeError: it is nested too deeply
		if (error instanceof NotCanonical || error instanceof RangeError) return 'noForm';
		throw error;
	}
	return Number.isSafeInteger(covered.number) ? (values as AuditRecord) : 'noNumber';
}
