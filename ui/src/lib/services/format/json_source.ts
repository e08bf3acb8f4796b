/** JSON with the line of each of its parts, and with what can be read of a text that is not complete. */

export type SourceProblemKind = 'empty' | 'end' | 'unexpected' | 'text' | 'duplicate' | 'deep';

/** Why a text is no JSON, and where: lines and columns begin at 1. */
export interface SourceProblem {
	kind: SourceProblemKind;
	line: number;
	column: number;
	/** The character or the name that is wrong; empty at the end of the text. */
	found: string;
}

export interface Source {
	/** The value, or as much of it as there is; undefined if there is none. */
	value: unknown;
	/** The line of each part, by its JSON pointer (`/properties/a`); the whole is at the empty one. */
	lines: ReadonlyMap<string, number>;
	problem: SourceProblem | null;
}

const DEEPEST = 60;
const ESCAPES: Record<string, string> = { '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

export function readSource(text: string): Source {
	const reader = new Reader(text);
	reader.read();
	return { value: reader.value, lines: reader.lines, problem: reader.problem };
}

/** The pointer of a part by its path. */
export function pointer(path: readonly (string | number)[]): string {
	return path.map((name) => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

type Assign = (value: unknown) => void;
class Stop extends Error {}

class Reader {
	value: unknown;
	problem: SourceProblem | null = null;
	readonly lines = new Map<string, number>();
	#at = 0;
	#line = 1;
	#lineStart = 0;

	constructor(private readonly text: string) {}

	read(): void {
		try {
			this.#space();
			if (this.#at >= this.text.length) this.#stop('empty');
			this.#value((value) => (this.value = value), [], 0);
			this.#space();
			if (this.#at < this.text.length) this.#stop('unexpected');
		} catch (error) {
			if (!(error instanceof Stop)) throw error;
		}
	}

	#value(assign: Assign, path: (string | number)[], depth: number): void {
		if (depth > DEEPEST) this.#stop('deep');
		if (!this.lines.has(pointer(path))) this.lines.set(pointer(path), this.#line);
		const character = this.text[this.#at];
		if (character === '{') this.#object(assign, path, depth);
		else if (character === '[') this.#array(assign, path, depth);
		else if (character === '"') assign(this.#string(assign));
		else assign(this.#word());
	}

	#object(assign: Assign, path: (string | number)[], depth: number): void {
		const value: Record<string, unknown> = {};
		assign(value);
		this.#at += 1;
		for (let count = 0; ; count += 1) {
			this.#space();
			if (count === 0 && this.#takes('}')) return;
			if (this.text[this.#at] !== '"') this.#stop('unexpected');
			const start = this.#at;
			const name = this.#string();
			if (Object.hasOwn(value, name)) this.#stop('duplicate', start, name);
			const inner = [...path, name];
			this.lines.set(pointer(inner), this.#line);
			this.#space();
			if (!this.#takes(':')) this.#stop('unexpected');
			this.#space();
			this.#value((part) => Object.defineProperty(value, name, { value: part, configurable: true, enumerable: true, writable: true }), inner, depth + 1);
			this.#space();
			if (this.#takes('}')) return;
			if (!this.#takes(',')) this.#stop('unexpected');
		}
	}

	#array(assign: Assign, path: (string | number)[], depth: number): void {
		const value: unknown[] = [];
		assign(value);
		this.#at += 1;
		for (let count = 0; ; count += 1) {
			this.#space();
			if (count === 0 && this.#takes(']')) return;
			this.#value((part) => (value[count] = part), [...path, count], depth + 1);
			this.#space();
			if (this.#takes(']')) return;
			if (!this.#takes(',')) this.#stop('unexpected');
		}
	}

	/** A string; of one that is cut off, `assign` gets what there is. */
	#string(assign?: Assign): string {
		let text = '';
		this.#at += 1;
		for (;;) {
			const plain = /[^"\\\u0000-\u001f]*/y; // eslint-disable-line no-control-regex -- JSON allows none of them
			plain.lastIndex = this.#at;
			const part = plain.exec(this.text)?.[0] ?? '';
			text += part;
			this.#at += part.length;
			if (this.#takes('"')) return text;
			if (this.#at >= this.text.length || (this.text[this.#at] === '\\' && this.#at + 1 >= this.text.length)) {
				assign?.(text);
				this.#stop('end', this.text.length);
			}
			if (this.text[this.#at] !== '\\') this.#stop('text');
			const escape = this.text[this.#at + 1] ?? '';
			const unicode = /^[0-9a-fA-F]{4}/.exec(this.text.slice(this.#at + 2, this.#at + 6))?.[0];
			if (escape === 'u' && unicode) text += String.fromCharCode(Number.parseInt(unicode, 16));
			else if (Object.hasOwn(ESCAPES, escape)) text += ESCAPES[escape];
			else this.#stop(this.#at + 6 > this.text.length ? 'end' : 'text');
			this.#at += escape === 'u' ? 6 : 2;
		}
	}

	#word(): unknown {
		const words = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
		words.lastIndex = this.#at;
		const found = words.exec(this.text)?.[0];
		if (!found) this.#stop('unexpected');
		const end = this.#at + found.length;
		if (/[\w.+-]/.test(this.text[end] ?? '')) this.#stop('unexpected', end);
		this.#at = end;
		return JSON.parse(found) as unknown;
	}

	#takes(character: string): boolean {
		if (this.text[this.#at] !== character) return false;
		this.#at += 1;
		return true;
	}

	#space(): void {
		for (; this.#at < this.text.length; this.#at += 1) {
			const character = this.text[this.#at];
			if (character === '\n') {
				this.#line += 1;
				this.#lineStart = this.#at + 1;
			} else if (character !== ' ' && character !== '\t' && character !== '\r') return;
		}
	}

	#stop(kind: SourceProblemKind, at = this.#at, name?: string): never {
		const atEnd = at >= this.text.length && kind === 'unexpected';
		const found = name ?? this.text.slice(at, at + 1);
		this.problem = { kind: atEnd ? 'end' : kind, line: this.#line, column: at - this.#lineStart + 1, found };
		throw new Stop();
	}
}
