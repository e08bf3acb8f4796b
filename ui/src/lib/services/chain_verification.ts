import { ChainCheck } from '$lib/services/audit_chain';
import type { SignedHead } from '$lib/services/signed_head';

/** Where the chain is read. */
export interface ChainSource {
	head: () => Promise<SignedHead>;
	/** The lines of the records behind a number, a piece at a time. */
	linesAfter: (number: number) => AsyncIterable<Uint8Array[]>;
}

export interface Verification {
	check: ChainCheck;
	/** The last head that was read, of which the check knows the record. */
	head: SignedHead;
	/** The records that no head covers, the first and the last: the end of the chain, when its head is an older one. */
	uncovered: { first: number; last: number } | undefined;
}

/** So many heads are read while records are added. */
const MOST_HEADS = 5;

/**
 * Check the whole chain, and read its head until it is that of the last record: an old head, which is signed as well, says nothing
 * about the records after it. `wanted`: the numbers of other heads. `onProgress` is called with each piece. Raises as `source`.
 */
export async function verifyChain(
	source: ChainSource,
	wanted: Iterable<number>,
	onProgress: (check: ChainCheck, head: SignedHead) => void
): Promise<Verification> {
	const check = new ChainCheck(wanted);
	let head = await source.head();
	for (let heads = 1; ; heads += 1) {
		check.want(head.number);
		for await (const lines of source.linesAfter(lastOf(check))) {
			const isWhole = await check.check(lines);
			onProgress(check, head);
			if (!isWhole) break;
		}
		if (check.finding || head.number === lastOf(check) || heads === MOST_HEADS) break;
		const latest = await source.head();
		if (latest.number >= lastOf(check)) head = latest; // the digest of an older one may not have been kept
	}
	const last = lastOf(check);
	const first = Math.max(check.first?.number ?? 1, head.number + 1);
	return { check, head, uncovered: head.number < last ? { first, last } : undefined };
}

function lastOf(check: ChainCheck): number {
	return check.last?.number ?? 0;
}
