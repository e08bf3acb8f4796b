import { expect, test } from 'vitest';
import { highlighted } from '../../src/lib/services/highlight/highlighter';
import { revealed } from '../../src/lib/services/invisible';
import { columnsOf, countOf, entriesOf, isSmall, jsonText, parsedJson } from '../../src/lib/services/json_tree';
import { settled } from '../../src/lib/services/markdown/settle';
import { MarkdownStream } from '../../src/lib/services/markdown/stream';

test('the end of a growing text shows no markup that is not decided', () => {
	for (const [written, shown] of [
		['text\n-', 'text'],
		['text\n- ', 'text'],
		['a\n\n1.', 'a'],
		['a\n\n#', 'a'],
		['a\n\n```', 'a'],
		['- [', ''],
		['- [x]', '- [x]'],
		['| a | b', ''],
		['x\n\n| a | b |\n|--', 'x'],
		['| a |\n|---|\n| 1', '| a |\n|---|\n| 1'],
		['a **b', 'a **b**'],
		['a `b', 'a `b`'],
		['a `b*`', 'a `b*`'],
		['a **b** c', 'a **b** c'],
		['see [the page](https://a.exam', 'see the page'],
		['```js\nx **y', '```js\nx **y'],
		['5 * 3 = 15', '5 * 3 = 15']
	] as const) {
		expect(settled(written).trimEnd(), written).toBe(shown);
	}
});

test('math has its delimiters, and money is none', () => {
	const formulas = (text: string): string[] =>
		JSON.stringify(new MarkdownStream().update(text, false)).match(/(?<="tex":")[^"]*/g) ?? [];
	expect(formulas('a $x^2$ b \\(y\\) and $$z$$')).toEqual(['x^2', 'y', 'z']);
	expect(formulas('text\n$$\na\n$$\nmore\n\\[\nb\n\\]')).toEqual(['a', 'b']);
	expect(formulas('- item\n  $$\n  c\n  $$')).toEqual(['c']);
	expect(formulas('| $a|b$ |\n|---|\n| $c$ |')).toContain('c');
	for (const prose of ['$5 and $6', 'from $5 to 10$', 'US$ 5', '$HOME:$PATH', 'a $ b $ c', '`$x$`', '\\$x\\$', '$5 and then some US$', '```\n$$\nx\n$$\n```']) {
		expect(formulas(prose), prose).toEqual([]);
	}
	expect(JSON.stringify(new MarkdownStream().update('$a*b$ and $c*d$', false))).not.toContain('emphasis');
});

test('hidden characters are revealed in code, and joiners that belong there are not', () => {
	expect(revealed('a\u202eb\u2066')).toEqual([{ text: 'a' }, { mark: 'U+202E' }, { text: 'b' }, { mark: 'U+2066' }]);
	expect(revealed('')).toEqual([{ text: '' }]);
	expect(revealed('plain\ttext\n')).toEqual([{ text: 'plain\ttext\n' }]);
	expect(revealed('👩\u200d💻')).toHaveLength(1);
	expect(revealed('pass\u200bword')).toHaveLength(3);
	expect(revealed('x\u{e0101}')).toEqual([{ text: 'x' }, { mark: 'U+E0101' }]);
});

test('code is lines of pieces whose text is the code', () => {
	const code = 'def f(x):\n    """Two\n    lines"""\n    return "a\u202e" + 1  # end\n';
	const lines = highlighted(code, 'Python') ?? [];
	const written = lines.map((line) => line.map((piece) => ('text' in piece ? piece.text : '\u202e')).join('')).join('\n');
	expect(written).toBe(code);
	expect(lines[0]?.[0]).toEqual({ text: 'def', role: 'keyword' });
	expect(lines[1]?.at(-1)).toMatchObject({ role: 'string' });
	expect(lines[2]?.[0]).toMatchObject({ role: 'string' });
	expect(lines[3]).toContainEqual({ mark: 'U+202E' });
	expect(highlighted('x', 'no-such-language')).toBeNull();
	expect(highlighted('x'.repeat(70_000), 'js')).toBeNull();
	for (const alias of ['js', 'ts', 'py', 'sh', 'html', 'yml', 'c++', 'rs', 'toml', 'docker', 'vue', 'scss', 'ps1']) expect(highlighted('x', alias), alias).not.toBeNull();
});

test('a value has bounded entries, and equal records are a table', () => {
	const wide = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, at]));
	expect(entriesOf(wide, 50)).toHaveLength(50);
	expect(countOf(wide)).toBe(10_000);
	expect(isSmall(wide, 12)).toBe(false);
	expect(isSmall({ a: 1, b: [1, 2], c: { d: null } }, 12)).toBe(true);
	expect(columnsOf([{ a: 1, b: 'x' }, { a: 2 }])).toEqual(['a', 'b']);
	for (const other of [[{ a: 1 }], [{ a: [1] }, { a: 2 }], [1, 2], { a: 1 }, [{}, {}], null]) expect(columnsOf(other)).toBeNull();
	expect(parsedJson('{"a":')).toBeUndefined();
	expect(parsedJson('{"__proto__": {"x": 1}}')).toEqual(JSON.parse('{"__proto__": {"x": 1}}'));
	expect(jsonText(undefined)).toBe('null');
});
