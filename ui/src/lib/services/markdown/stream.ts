/** A Markdown text that grows: what is finished is neither read nor shown again. */

import type { Token } from 'marked';
import { lex, type Links } from './lexer';
import { toBlock } from './parse';
import { settled } from './settle';
import { shared } from './share';
import type { Block } from './tree';

/** A block of the text with its place, which stays. */
export interface PlacedBlock {
	index: number;
	block: Block;
}

export class MarkdownStream {
	#text = '';
	#isStreaming = false;
	#blocks: PlacedBlock[] = [];
	/** How many of the blocks are finished, and where the text after them begins. */
	#finished = 0;
	#tailStart = 0;
	#links: Links = {};

	/** The blocks of the text. Of one that continues the text before, the lexer sees only its last block. */
	update(written: string, isStreaming: boolean): readonly PlacedBlock[] {
		const text = written.includes('\r') ? written.replace(/\r\n?/g, '\n') : written;
		if (text === this.#text && isStreaming === this.#isStreaming) return this.#blocks;
		if (!text.startsWith(this.#text.slice(0, this.#tailStart))) this.#restart();
		this.#text = text;
		this.#isStreaming = isStreaming;
		this.#read();
		return this.#blocks;
	}

	#restart(): void {
		this.#finished = 0;
		this.#tailStart = 0;
		this.#links = {};
	}

	#read(): void {
		const tail = this.#text.slice(this.#tailStart);
		const shown = this.#isStreaming ? settled(tail) : tail;
		const { tokens, links } = lex(shown, this.#isStreaming, this.#links);
		const end = this.#isStreaming ? endOfFinished(tokens) : tokens.length;
		const finishedTokens = tokens.slice(0, end);
		if (this.#finished > 0 && definesMore(finishedTokens, this.#links)) {
			// a definition of a link that an earlier block may use
			const known = { ...links };
			this.#restart();
			this.#links = known;
			this.#read();
			return;
		}
		const before = this.#blocks;
		const blocks = before.slice(0, this.#finished);
		const append = (token: Token): void => {
			const block = toBlock(token);
			if (block) blocks.push(placed(block, blocks.length, before[blocks.length]));
		};
		finishedTokens.forEach(append);
		this.#finished = blocks.length;
		if (this.#isStreaming) {
			for (const token of finishedTokens) {
				this.#tailStart += token.raw.length;
				if (token.type === 'def') this.#links = { ...links };
			}
		} else {
			this.#restart(); // the next text is another one, or begins again
		}
		tokens.slice(end).forEach(append);
		this.#blocks = blocks;
	}
}

/** The block at its place: that of before where nothing changed, else with the parts of it that did not change. */
function placed(block: Block, index: number, before: PlacedBlock | undefined): PlacedBlock {
	if (!before) return { index, block };
	const same = shared(before.block, block);
	return same === before.block ? before : { index, block: same };
}

/**
 * How many of the tokens no later text can change: those before the last block, once its first line is complete. Until
 * then it may turn out to be a part of the block before it (`2` becomes `2. second`).
 */
function endOfFinished(tokens: readonly Token[]): number {
	let last = tokens.length - 1;
	while (last >= 0 && tokens[last]?.type === 'space') last -= 1;
	if (last >= 0 && !tokens[last]?.raw.includes('\n')) {
		last -= 1;
		while (last >= 0 && tokens[last]?.type === 'space') last -= 1;
	}
	return Math.max(0, last);
}

function definesMore(tokens: readonly Token[], known: Links): boolean {
	return tokens.some((token) => token.type === 'def' && !Object.hasOwn(known, token['tag'] as string));
}
