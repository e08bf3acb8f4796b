import { readFileSync } from 'node:fs';
import type { components } from '../src/lib/api/schema';
import type { SignedHead } from '../src/lib/services/signed_head';

/** What the platform's own code makes (`tests/ui/signing_vectors.py`). */
interface Vectors {
	forms: { value: unknown; canonical: string }[];
	keys: { seed: string; pem: string; publicKey: string; publicPem: string; otherPem: string };
	proposals: { proposal: components['schemas']['ProposalObject']; signature: string }[];
	chain: string[];
	broken: { name: string; lines: string[]; number: number; problem: string }[];
	heads: { head: SignedHead; problem: string }[];
}

const file = new URL('../../tests/ui/signing_vectors.json', import.meta.url);
export const vectors = JSON.parse(readFileSync(file, 'utf-8')) as Vectors;

const encoder = new TextEncoder();

/** The bytes of a text. */
export function bytes(text: string): Uint8Array {
	return encoder.encode(text);
}
