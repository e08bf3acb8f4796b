import { expect, test } from 'vitest';
import { ChainCheck, LineSplitter } from '../src/lib/services/audit_chain';
import { findingWords, headWords } from '../src/lib/services/audit_words';
import { verifyChain } from '../src/lib/services/chain_verification';
import { MOST_LINE_BYTES, parseRecord } from '../src/lib/services/audit_record';
import { headProblem, isSigned, parseHead, type SignedHead } from '../src/lib/services/signed_head';
import { bytes, vectors } from './vectors';

const lines = vectors.chain.map(bytes);
const empty = vectors.chain.find((line) => line.includes('"detail":{}')) ?? '';

test('the chain of the platform is whole, in one piece or in many', async () => {
	const whole = new ChainCheck([2]);
	expect(await whole.check(lines)).toBe(true);
	expect([whole.first?.number, whole.last?.number, whole.digests.size]).toEqual([1, lines.length, 1]);
	const parts = new ChainCheck();
	for (const line of lines) expect(await parts.check([line])).toBe(true);
	expect(parts.last).toEqual(whole.last);
});

test('a chain whose older records were moved away is whole', async () => {
	const check = new ChainCheck();
	expect(await check.check(lines.slice(2))).toBe(true);
	expect(check.first?.number).toBe(3);
});

test.each(vectors.broken)('the first record that does not fit is named: $name', async ({ lines: broken, number, problem }) => {
	const check = new ChainCheck();
	expect(await check.check(broken.map(bytes))).toBe(false);
	expect(check.finding?.number).toBe(number);
	expect(check.finding && findingWords(check.finding)).toBe(problem);
});

test('any changed byte of a record is found', async () => {
	const line = lines[3] ?? bytes('');
	expect(line.length).toBeGreaterThan(300);
	for (let at = 0; at < line.length; at += 1) {
		const changed = line.map((byte, place) => (place === at ? byte ^ (1 + (at % 255)) : byte));
		const check = new ChainCheck();
		await check.check([...lines.slice(0, 3), changed, ...lines.slice(4)]);
		expect(check.finding?.number, `byte ${at}`).toBe(4);
	}
});

test('a line is refused that is too long, is nested too deeply, or has half of a surrogate pair', async () => {
	const nested = empty.replace('"detail":{}', `"detail":{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
	expect(await parseRecord(new Uint8Array(MOST_LINE_BYTES + 1))).toBe('tooLong');
	expect(await parseRecord(bytes(nested))).toMatch(/noForm|otherDigest|notJson/);
	expect(await parseRecord(bytes(empty.replace('"done"', '"\\ud800"')))).toBe('noForm');
});

test.each(vectors.heads)('a head is compared with the chain: record $head.number, $problem', async ({ head, problem }) => {
	const check = new ChainCheck([head.number]);
	await check.check(lines);
	const found = headProblem(head, check);
	expect(found ? headWords(head.number, found) : '').toBe(problem);
	expect(await isSigned(head)).toBe(true);
	expect(parseHead(JSON.stringify(head))).toEqual(head);
});

test('a head that was changed is not signed, and another document is no head', async () => {
	const head = vectors.heads[0]?.head as SignedHead;
	for (const change of [{ number: 5 }, { keyId: '0'.repeat(16) }, { publicKey: '!' }, { publicKey: 'AAAA' }, { signature: 'AA==' }]) {
		expect(await isSigned({ ...head, ...change })).toBe(false);
	}
	for (const text of ['', '[]', 'null', '{}', JSON.stringify({ ...head, more: 1 }), JSON.stringify({ ...head, number: '6' })]) {
		expect(parseHead(text)).toBeUndefined();
	}
});

test('bytes are split into lines wherever the pieces end', () => {
	const all = bytes(`${vectors.chain.join('\n')}\nrest`);
	for (const size of [1, 7, 100, all.length]) {
		const splitter = new LineSplitter();
		const found: Uint8Array[] = [];
		for (let at = 0; at < all.length; at += size) found.push(...splitter.push(all.slice(at, at + size), MOST_LINE_BYTES));
		expect(found.map((line) => new TextDecoder().decode(line))).toEqual(vectors.chain);
		expect(splitter.end().map((line) => new TextDecoder().decode(line))).toEqual(['rest']);
	}
});

test('a line without an end does not grow for ever', () => {
	const splitter = new LineSplitter();
	expect(splitter.push(new Uint8Array(8).fill(0x61), 10)).toEqual([]);
	expect(splitter.push(new Uint8Array(8).fill(0x61), 10).map((line) => line.length)).toEqual([16]);
	expect(splitter.end()).toEqual([]);
});

/** A chain that has `count` records at the next reading, and heads of these numbers one after the other. */
function changing(counts: number[], heads: number[]) {
	const known = heads.map((number) => ({ number, digest: (JSON.parse(vectors.chain[number - 1] ?? '{}') as SignedHead).digest }));
	return {
		head: () => Promise.resolve((known.length > 1 ? known.shift() : known[0]) as SignedHead),
		async *linesAfter(number: number) {
			yield await Promise.resolve(lines.slice(number, counts.length > 1 ? counts.shift() : counts[0]));
		}
	};
}

test.each([0, 2])('the records behind an old head, of record %s, are named as not covered', async (number) => {
	const found = await verifyChain(changing([6], [number]), [], () => {});
	expect(found.uncovered).toEqual({ first: number + 1, last: 6 });
	expect(headProblem(found.head, found.check)).toBeUndefined();
});

test.each([
	[[3, 5, 6], [2, 4, 6]],
	[[6], [5, 6]],
	[[0, 6], [3, 6]]
])('records that are added meanwhile are checked until the head is that of the last one: %j, %j', async (counts, heads) => {
	const found = await verifyChain(changing(counts, heads), [], () => {});
	expect([found.check.last?.number, found.head.number, found.uncovered]).toEqual([6, 6, undefined]);
	expect(headProblem(found.head, found.check)).toBeUndefined();
});

test('a chain that ends before its head is shortened', async () => {
	const found = await verifyChain(changing([4], [6]), [], () => {});
	expect(found.uncovered).toBeUndefined();
	expect(headProblem(found.head, found.check)).toEqual({ kind: 'shortened', end: 4, missing: 6 });
});

test('an older head that comes later does not take the place of a newer one', async () => {
	const found = await verifyChain(changing([6], [5, 3]), [], () => {});
	expect([found.head.number, found.uncovered]).toEqual([5, { first: 6, last: 6 }]);
	expect(headProblem(found.head, found.check)).toBeUndefined();
});
