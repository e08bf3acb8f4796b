import { expect, test } from 'vitest';
import { excerptOf, piecesOf, searchTexts, searchWords, titleMatches, type SearchHit } from '$lib/services/chat/search';

const TEXTS: Record<string, { id: string; text: string }[]> = {
	a: [
		{ id: 'a1', text: 'How do I cook a Crème brûlée?' },
		{ id: 'a2', text: 'With eggs and sugar.' }
	],
	b: [{ id: 'b1', text: 'Nothing of it' }],
	c: []
};
const LIST = [
	{ id: 'a', title: 'Desserts' },
	{ id: 'b', title: 'Sugar' },
	{ id: 'c', title: 'Crème sugar' }
];

async function search(query: string, signal = new AbortController().signal): Promise<SearchHit[]> {
	const hits: SearchHit[] = [];
	await searchTexts(LIST, query, async (id) => TEXTS[id] ?? [], (hit) => hits.push(hit), signal);
	return hits;
}

test('a conversation is found if each word is in its title or in one of its texts', async () => {
	expect((await search('creme SUGAR')).map(({ id, message }) => [id, message])).toEqual([
		['a', 'a1'],
		['c', null]
	]);
	expect((await search('desserts eggs')).map(({ message }) => message)).toEqual(['a2']);
	expect(await search('  ')).toEqual([]);
});

test('a search that was given up reports nothing more', async () => {
	const control = new AbortController();
	control.abort();
	expect(await search('sugar', control.signal)).toEqual([]);
});

test('an excerpt marks what matches in the text as it was written', () => {
	const found = excerptOf(`${'word '.repeat(50)}a Crème\nbrûlée ${'tail '.repeat(80)}`, searchWords('creme brulee'));
	expect(found.filter(({ isMatch }) => isMatch).map(({ text }) => text)).toEqual(['Crème', 'brûlée']);
	expect(found[0]?.text).toBe('…');
	expect(found.at(-1)?.text).toBe('…');
	expect(found.map(({ text }) => text).join('').length).toBeLessThan(200);
});

test('an excerpt is found deep in a long text', () => {
	const found = excerptOf(`${'x'.repeat(4_090)} needle ${'y '.repeat(100_000)}`, ['needle']);
	expect(found.some(({ text, isMatch }) => isMatch && text === 'needle')).toBe(true);
});

test('pieces join to the whole text, also where folding changes its length', () => {
	for (const text of ['ﬁne ﬁsh 😀 STRASSE', 'a\u0301b', '', 'İstanbul', '\ud800 broken']) {
		for (const word of ['fi', 'a', 's', 'i']) {
			expect(piecesOf(text, [word]).map((piece) => piece.text).join('')).toBe(text);
		}
	}
});

test('a query counts 16 different words', () => {
	expect(searchWords('a A á b').length).toBe(2);
	expect(searchWords(Array.from({ length: 100 }, (_, at) => `w${at}`).join(' ')).length).toBe(16);
	expect(titleMatches('Über alles', ['uber'])).toBe(true);
});
