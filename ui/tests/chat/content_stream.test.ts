import { expect, test } from 'vitest';
import { MarkdownStream } from '../../src/lib/services/markdown/stream';
import type { Block } from '../../src/lib/services/markdown/tree';

const DOCUMENTS = [
	'# Title\n\nOne *two* **three** `four`.\nFive\n\n- a\n- b\n\n  more of b\n- c\n\nEnd.\n',
	'1. one\n\n2. two\n\n3. three\n\ntext\n\n1) other\n2) list\n',
	'Text\n- a\n  - b\n    - c\n\n\n- d\n\n***\n\nText\n---\nnext\n===\n',
	'Before\n\n```python\nprint("a")\n\n# b\n```\n\nAfter\n\n~~~\nnot closed\n\n',
	'| a | b |\n|---|:-:|\n| 1 | **2** |\n| 3 | `4|5` |\n\ntext | with | pipes\n\n| c |\n| - |\n| d |',
	'> quote\nlazy\n> more\n\n> - a\n>   b\n>\n> ```js\n> x()\n> ```\n\nend',
	'$$\na_1 * b_2\n$$\n\nInline \\(x*y\\) and $a_b$ but $5 and $6.\n\n\\[\n\\frac{1}{2}\n\\]\nafter\n\n$$ never closed\n\nmore',
	'A [link][one] and [two].\n\n- [x] done\n- [ ] open\n\n[one]: https://one.example/a "T"\n[two]: <https://two.example>\n\nLater [one].\n',
	'Note[^1] and[^long].\n\n[^1]: First *note*\n  goes on\n[^long]: Second\n\nEnd',
	'<div>\n<b>raw</b>\n</div>\n\ntext <b>x</b> a<br>b\n\n<!-- comment\n\nstill -->\n\n<script>\n\nalert(1)\n</script>\n\nend',
	'    indented\n\n    code\n\ntext\n\n\ttab\n\n* a\n\n      code in list\n\n+ other\n',
	'a\r\nb\r\n\r\n- c\r\n- d\r\n\r\n```\r\ne\r\n```\r\n',
	'***bold and italic*** ~~gone~~ \\*no\\* &amp; &lt;b&gt; https://a.example/x?y=1&z=2 **a `b** c` d**\n\n[text](https://b.example "t") ![alt](https://c.example/x.png)'
];

function whole(text: string): Block[] {
	return new MarkdownStream().update(text, false).map(({ block }) => block);
}

test('a text that comes character by character is the same as the whole', () => {
	for (const text of DOCUMENTS) {
		for (const step of [1, 2, 3, 7]) {
			const stream = new MarkdownStream();
			for (let end = 0; end < text.length; end += step) stream.update(text.slice(0, end), true);
			expect(stream.update(text, true).length).toBeGreaterThan(0);
			expect(stream.update(text, false).map(({ block }) => block)).toEqual(whole(text));
		}
	}
});

test('what is finished stays the same object, also at the end', () => {
	const text = DOCUMENTS.slice(0, 7).join('\n\n');
	const stream = new MarkdownStream();
	let before = stream.update('', true);
	for (let end = 1; end <= text.length; end += 5) {
		const after = stream.update(text.slice(0, end), true);
		const kept = before.slice(0, -3);
		expect(after.slice(0, kept.length).every((block, at) => block === kept[at])).toBe(true);
		before = after;
	}
	const last = stream.update(text, false);
	expect(before.filter((block, at) => last[at] !== block).length).toBeLessThanOrEqual(3);
});

test('another text begins again', () => {
	const stream = new MarkdownStream();
	stream.update('# One\n\ntwo\n\nthree\n', true);
	expect(stream.update('Other', true)).toEqual([{ index: 0, block: { type: 'paragraph', children: [{ type: 'text', text: 'Other' }] } }]);
});
