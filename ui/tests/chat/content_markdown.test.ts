import { render } from 'svelte/server';
import { expect, test } from 'vitest';
import Markdown from '../../src/lib/components/content/Markdown.svelte';
import { ADDRESSES, HTML, asAddress, everywhere } from './content_corpus';

const TAGS = new Set(
	...[
		('svg path div p h3 h4 h5 h6 ul ol li blockquote hr pre code button span a bdi br s sup strong em img' + ' table thead tbody tr th td').split(' ')
	]
);
const ATTRIBUTES = new Set(
	'viewBox fill stroke stroke-width stroke-linecap stroke-linejoin aria-hidden d class dir href target rel referrerpolicy title src alt start role aria-label aria-pressed scope type hidden'.split(' ')
);

interface Tag {
	name: string;
	attributes: Map<string, string>;
}

/** What the text becomes: without Svelte's comments. */
function html(text: string, isStreaming = false): string {
	return render(Markdown, { props: { text, isStreaming } }).body.replace(/<!--.*?-->/gs, '');
}

function tags(markup: string): Tag[] {
	return [...markup.matchAll(/<([a-zA-Z][^\s/>]*)((?:"[^"]*"|[^>"])*)>/g)].map((found) => ({
		name: found[1] ?? '',
		attributes: new Map([...(found[2] ?? '').matchAll(/([^\s="/]+)(?:="([^"]*)")?/g)].map((pair) => [pair[1] ?? '', pair[2] ?? '']))
	}));
}

function check(markup: string, text: string): void {
	for (const { name, attributes } of tags(markup)) {
		expect(TAGS, text).toContain(name);
		for (const [attribute, value] of attributes) {
			expect(ATTRIBUTES, `${attribute} of ${text}`).toContain(attribute);
			if (attribute === 'href') expect(value, text).toMatch(/^(https?:\/\/[^/]|mailto:)/);
			if (attribute === 'src') expect(value, text).toMatch(/^data:image\/(png|jpeg|gif|webp);base64,/);
		}
	}
}

test('no text becomes HTML, whatever it is and wherever it stands', () => {
	for (const vector of HTML) {
		for (const text of everywhere(vector)) {
			check(html(text), text);
			check(html(text, true), text);
		}
	}
});

test('no address becomes a link or an image unless it is https, http or mailto', () => {
	for (const address of ADDRESSES) {
		for (const text of asAddress(address)) {
			const markup = html(text);
			check(markup, text);
			expect(tags(markup).filter(({ name }) => name === 'a' || name === 'img'), text).toEqual([]);
		}
	}
});

test('raw HTML is shown as it is written, and a break of a line is one', () => {
	expect(html('a <b>x</b> c')).toContain('a &lt;b>x&lt;/b> c');
	expect(html('<div>\n\ntext')).toContain('&lt;div>');
	expect(html('| a |\n|---|\n| one<br>two |')).toMatch(/one<br\/?>two/);
});

test('a link opens elsewhere and says where it leads unless its words do', () => {
	const [link] = tags(html('[the manual](https://docs.example:8443/a)')).filter(({ name }) => name === 'a');
	expect(Object.fromEntries(link?.attributes ?? [])).toMatchObject({
		href: 'https://docs.example:8443/a',
		target: '_blank',
		rel: 'noopener noreferrer external',
		referrerpolicy: 'no-referrer'
	});
	expect(html('[the manual](https://docs.example:8443/a)')).toContain('(docs.example:8443)');
	for (const honest of ['https://a.example/b', '<https://a.example>', '[a.example](https://a.example)', '[a.example/b](https://a.example/c)']) {
		expect(html(honest), honest).not.toContain('(a.example)');
	}
	for (const [lie, host] of [
		['[https://good.example](https://evil.example)', 'evil.example'],
		['[https://good.example/](https://good.example@evil.example/)', 'evil.example'],
		['[good.example](https://good.example.evil.example)', 'good.example.evil.example'],
		['[https://g\u043e\u043ed.example](https://g\u043e\u043ed.example)', 'xn--gd-fmca.example'],
		['[write](mailto:a@evil.example)', 'a@evil.example']
	] as const) {
		expect(html(lie), lie).toContain(`(${host})`);
	}
});

test('an image of another origin is a link that names its host, one in its address is shown', () => {
	const remote = html('![a cat](https://tracker.example/c.png?secret=1)');
	expect(tags(remote).map(({ name }) => name)).not.toContain('img');
	expect(remote).toMatch(/Image: <bdi>a cat<\/bdi>.*\(tracker\.example\)/s);
	expect(tags(html('![dot](data:image/png;base64,iVBORw0KGgo=)')).map(({ name }) => name)).toContain('img');
});

test('lists, tasks, tables, quotes, notes and code have their elements', () => {
	expect(html('3. a\n4. b')).toMatch(/<ol[^>]* start="3"/);
	const tasks = html('- [x] a\n- [ ] b');
	expect(tasks).toContain('aria-label="done"');
	expect(tasks).toContain('aria-label="open"');
	expect(tasks).not.toContain('[x]');
	expect(html('| a | b |\n|---|--:|\n| 1 | 2 |')).toMatch(/<td[^>]*class="text-end"/);
	expect(html('> a\n> > b')).toMatch(/<blockquote.*<blockquote/s);
	expect(html('x[^n]\n\n[^n]: words')).toMatch(/<sup[^>]*>n<\/sup>.*words/s);
	expect(html('# a')).toContain('<h3');
	expect(html('###### a')).toContain('<h6');
	expect(html('```c++\nint x;\n```')).toContain('>c++</span>');
});

test('a hidden character is a mark, in prose only where it can mislead', () => {
	expect(html('`a\u202eb`')).toContain('U+202E');
	expect(html('```\nif (x\u200b) {}\n```')).toContain('U+200B');
	expect(html('a\u202eb')).toContain('U+202E');
	expect(html('hidden \u{e0041}\u{e0042} words')).toMatch(/U\+E0041.*U\+E0042/s);
	expect(html('می\u200cخواهم 👨\u200d👩\u200d👧 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}')).not.toContain('U+');
});

test('each block follows the direction of its own text', () => {
	for (const text of ['مرحبا', '# مرحبا', '- مرحبا', '> مرحبا', '| مرحبا |\n|---|\n| x |']) expect(html(text)).toContain('dir="auto"');
	expect(html('`x`')).toMatch(/<code[^>]*dir="ltr"/);
});

test('a text that nests without end is shown, and does not stop the page', () => {
	const repeated: [string, number][] = [
		...([['>', 5_000], ['- ', 3_000], ['[', 20_000], ['![[', 5_000], ['<', 30_000], ['*a ', 6_000], ['**a *b ', 5_000]] as [string, number][]),
		...([['`', 9_999], ['$', 9_999], ['\\(', 5_000], ['|', 9_999], ['&#', 9_999], ['[^1]', 4_000], ['_a', 9_999]] as [string, number][])
	];
	for (const [part, count] of repeated) expect(html(part.repeat(count), true).length).toBeGreaterThan(0);
});
